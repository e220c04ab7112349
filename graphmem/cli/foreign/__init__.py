"""Files of other programs: recognised by looking, and read as messages."""
