CYPHER 25
// Finds names of any client that wait for alias detection, and returns their clients: a worker serves all.
//
// $looked_at  int  the number of names examined
MATCH (entity:Entity)
WHERE entity.alias_due = true AND entity.client_id IS NOT NULL
WITH entity
LIMIT $looked_at
RETURN DISTINCT entity.client_id AS client_id
ORDER BY client_id
