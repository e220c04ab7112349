CYPHER 25
// Marks names written before alias detection existed, so that their aliases are detected.
//
// $client_id  string  the client
// $limit      int     the batch size
MATCH (entity:Entity {client_id: $client_id})
// The index only holds nodes with a normal form: without this line it is not used.
WHERE entity.normalized IS NOT NULL AND entity.spelled IS NULL AND entity.alias_due IS NULL
WITH entity
LIMIT $limit
SET entity.alias_due = true
RETURN count(*) AS written
