"""Episodes: runs of messages, and the facts derived from them."""
