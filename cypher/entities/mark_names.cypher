CYPHER 25
// Marks names that were written before aliases were looked for, so that theirs are.
//
// $client_id  string  whose names
// $limit      int     how many at once
MATCH (entity:Entity {client_id: $client_id})
// The index holds what has a normal form: without this line it is not used.
WHERE entity.normalized IS NOT NULL AND entity.spelled IS NULL AND entity.alias_due IS NULL
WITH entity
LIMIT $limit
SET entity.alias_due = true
RETURN count(*) AS written
