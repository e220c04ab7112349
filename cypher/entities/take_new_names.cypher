CYPHER 25
// Locks some of a client's names whose aliases are still to be found, and takes their marks away.
//
// $client_id  string  whose names
// $limit      int     how many at once
MATCH (entity:Entity {alias_due: true, client_id: $client_id})
WITH entity
LIMIT $limit
WITH entity
ORDER BY entity.normalized
SET entity.locked = true
WITH entity
// Deleted while this waited for the lock, it has no properties any more.
WHERE entity.normalized IS NOT NULL
REMOVE entity.alias_due
RETURN collect(entity {.normalized, .name}) AS rows
