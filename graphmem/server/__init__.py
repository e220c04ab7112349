"""The private Neo4j: finds Java, starts, joins, watches and stops the server."""
