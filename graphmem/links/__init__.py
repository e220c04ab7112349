"""Links between two memories that a client declares."""
