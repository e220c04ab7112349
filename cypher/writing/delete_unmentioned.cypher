CYPHER 25
// Deletes those of some entities that nothing mentions or names any more. They are locked first, so that of
// several who delete the last mentions the last one sees that none is left.
//
// $client_id   string        whose entities
// $normalized  list<string>  their normal forms, in order
UNWIND $normalized AS normalized
MATCH (entity:Entity {client_id: $client_id, normalized: normalized})
SET entity.locked = true
WITH entity
// Deleted while this waited for the lock, it has no properties any more. One that is mentioned just now
// refuses to be deleted without its edges.
WHERE
  entity.normalized IS NOT NULL
  AND NOT EXISTS { (entity)<-[:MENTIONS|NAMES]-(:Memory {client_id: $client_id}) }
DELETE entity
RETURN count(*) AS written
