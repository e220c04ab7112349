"""Contexts: parts of memories collected within a budget."""
