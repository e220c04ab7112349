"""A client as a file: everything that is stored of it, written as JSON Lines and read again."""
