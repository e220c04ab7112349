"""Words, names and sentences in texts: pure functions."""
