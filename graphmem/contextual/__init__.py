"""Contextual search: sessions first, then what was said in them."""
