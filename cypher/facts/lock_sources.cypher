CYPHER 25
// Locks the memories from which facts come, as their deletion does: either it finds these facts, or they do not
// find their source.
//
// $client_id  string        the client
// $ids        list<string>  the memories
UNWIND $ids AS id
MATCH (source:Memory {client_id: $client_id, id: id})
WITH source
ORDER BY source.id
SET source.locked = true
RETURN count(*) AS written
