"""Forgetting: memories that are deleted with everything that was made of them."""
