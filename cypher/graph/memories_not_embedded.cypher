CYPHER 25
// Counts the memories of all clients without an embedding on this side.
MATCH (memory:Memory)
WHERE memory.embedding IS NULL
RETURN count(memory) AS memories
