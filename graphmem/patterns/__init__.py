"""Patterns across sessions; each is one file under `cypher/patterns/`."""
