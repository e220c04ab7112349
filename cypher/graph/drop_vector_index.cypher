CYPHER 25
// Drops the vector index; every transaction that has written a memory ends before.
DROP INDEX memory_embedding IF EXISTS
