CYPHER 25
// Counts the long memories of all clients that still lack some of their passages.
MATCH (memory:Memory {passages_due: true})
WHERE memory.client_id IS NOT NULL AND memory.id IS NOT NULL // names every property: else the index is not used
RETURN count(memory) AS memories
