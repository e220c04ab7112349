"""Search: the memories that match a query, and what they are linked with."""
