CYPHER 25
// Records the outcome of a statement in the audit.
//
// $client_id   string  the client
// $id          string  its entry's id
// $properties  map     the properties of its outcome
MATCH (audit:Audit {client_id: $client_id, id: $id})
SET audit += $properties
RETURN count(*) AS written
