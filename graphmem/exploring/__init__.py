"""Operators' Cypher: statements that read the whole graph and cannot change it."""
