"""Spans: byte ranges of sources."""
