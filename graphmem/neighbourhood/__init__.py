"""The graph around a node, and the graph's schema."""
