"""Retrieval by hypotheses (HyDE): what a turn of an agent should know."""
