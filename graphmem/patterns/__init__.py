"""Patterns: what shows only across sessions; each is one file under `cypher/patterns/`."""
