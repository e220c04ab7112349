"""Ways of remembering, a use case a file."""
