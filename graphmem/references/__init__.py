"""References: catalogue cards of sources, and their content."""
