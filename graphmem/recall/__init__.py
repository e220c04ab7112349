"""Recall: the best context for a question within a budget."""
