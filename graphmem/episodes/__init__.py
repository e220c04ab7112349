"""Episodes: runs of messages, and the facts made of them."""
