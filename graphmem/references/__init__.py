"""References: catalogue cards of sources, their content, and spans (byte ranges of sources)."""
