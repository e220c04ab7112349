CYPHER 25
// Counts the memories of all clients whose names are still to be found.
MATCH (memory:Memory {names_due: true})
WHERE memory.client_id IS NOT NULL AND memory.id IS NOT NULL // names every property: else the index is not used
RETURN count(memory) AS memories
