"""Background work: an outbox in the graph, and the worker that empties it."""
