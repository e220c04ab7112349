"""Sessions: their summaries, and which are related."""
