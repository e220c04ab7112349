"""Chains of versions of one memory."""
