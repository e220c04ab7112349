CYPHER 25
// Finds memories of any client whose names are still to be found, and returns their clients: a worker serves all.
//
// $looked_at  int  the number of memories examined
MATCH (memory:Memory {names_due: true})
WHERE memory.client_id IS NOT NULL AND memory.id IS NOT NULL // names every property: else the index is not used
WITH memory
LIMIT $looked_at
RETURN DISTINCT memory.client_id AS client_id
ORDER BY client_id
