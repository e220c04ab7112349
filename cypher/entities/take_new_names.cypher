CYPHER 25
// Locks some of a client's names that wait for alias detection, and removes their marks.
//
// $client_id  string  the client
// $limit      int     the batch size
MATCH (entity:Entity {alias_due: true, client_id: $client_id})
WITH entity
LIMIT $limit
WITH entity
ORDER BY entity.normalized
SET entity.locked = true
WITH entity
// A node that was deleted while this waited for the lock has no properties.
WHERE entity.normalized IS NOT NULL
REMOVE entity.alias_due
RETURN collect(entity {.normalized, .name}) AS rows
