"""What all kinds of memory share: writing, showing, deleting, cutting to a budget."""
