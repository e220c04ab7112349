"""Search: the memories that match a query, and the memories linked with them."""
