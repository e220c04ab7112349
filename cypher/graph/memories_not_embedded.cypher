CYPHER 25
// Counts the memories of all clients, and their passages, without an embedding on this side.
MATCH (memory:Memory|Passage)
WHERE memory.embedding IS NULL
RETURN count(memory) AS memories
