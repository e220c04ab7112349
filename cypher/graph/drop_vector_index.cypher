CYPHER 25
// Drops the vector index; waits for all transactions that have written a memory.
DROP INDEX memory_embedding IF EXISTS
