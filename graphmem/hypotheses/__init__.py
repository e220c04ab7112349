"""Retrieval by hypotheses (HyDE): the context for an agent's next turn."""
