CYPHER 25
// How many memories, of any client, have no embedding of this side.
MATCH (memory:Memory)
WHERE memory.embedding IS NULL
RETURN count(memory) AS memories
