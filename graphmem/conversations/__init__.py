"""Conversations and their messages."""
