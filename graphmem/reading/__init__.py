"""Ways of asking, a use case a file."""
