"""Operators' Cypher: any statement that reads the whole graph; nothing can be changed by it."""
