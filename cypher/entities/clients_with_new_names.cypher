CYPHER 25
// Whose names still wait for their aliases, of any client: a worker works for all.
//
// $looked_at  int  how many names are looked at
MATCH (entity:Entity)
WHERE entity.alias_due = true AND entity.client_id IS NOT NULL
WITH entity
LIMIT $looked_at
RETURN DISTINCT entity.client_id AS client_id
ORDER BY client_id
