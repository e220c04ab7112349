CYPHER 25
// Locks names that are about to be joined or separated; does not count a name that was deleted meanwhile.
//
// $client_id  string        the client
// $names      list<string>  their normal forms, in order
UNWIND $names AS name
MATCH (entity:Entity {client_id: $client_id, normalized: name})
SET entity.locked = true
WITH entity
WHERE entity.normalized IS NOT NULL
RETURN count(*) AS written
