"""Measuring: every figure that is published comes from a command here."""
