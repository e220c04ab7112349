"""Everything that touches Neo4j."""
