"""Operators' Cypher: anything may be asked of the whole graph, and nothing can be changed by it."""

from graphmem.exploring.running import explore
from graphmem.exploring.types import Asked, Limits, Table

__all__ = ["Asked", "Limits", "Table", "explore"]
