"""Fetching files by committed coordinates and hashes."""
