CYPHER 25
// Counts the memories of all clients, from the server's count store.
MATCH (memory:Memory)
RETURN count(memory) AS memories
