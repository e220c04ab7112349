"""graphmem over HTTP: the methods of `Graphmem` for a running service."""
