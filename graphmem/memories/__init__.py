"""Memories of all kinds: writing, showing, linking, superseding, deleting, cutting to a budget."""
