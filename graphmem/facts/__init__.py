"""Facts and their categories."""
