"""Contexts: chunks of memories collected within a token budget."""
