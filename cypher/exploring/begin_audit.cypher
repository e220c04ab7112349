CYPHER 25
// Records a statement in the audit before it runs.
//
// $client_id   string    the client
// $id          string    the entry's id
// $at          datetime  when it was sent
// $properties  map       the other properties of the entry
MERGE (audit:Audit {client_id: $client_id, id: $id})
SET audit += $properties, audit.at = $at
RETURN count(*) AS written
