"""Observing a running graphmem from outside: its log, its metrics, its spans; never a text."""
