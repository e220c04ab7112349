CYPHER 25
// Drops the vector index of passages; waits for all transactions that have written one.
DROP INDEX passage_embedding IF EXISTS
