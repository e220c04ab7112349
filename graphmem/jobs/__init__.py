"""Background jobs: an outbox in the graph, and the worker that runs due jobs."""
