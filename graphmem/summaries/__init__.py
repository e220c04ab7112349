"""Versioned summaries of threads, plans and sessions."""
