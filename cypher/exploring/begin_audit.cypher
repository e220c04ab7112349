CYPHER 25
// Keeps that a statement was sent, before anything of it is run.
//
// $client_id   string    whose statement
// $id          string    the entry's id
// $at          datetime  when it was sent
// $properties  map       what else is kept of it
MERGE (audit:Audit {client_id: $client_id, id: $id})
SET audit += $properties, audit.at = $at
RETURN count(*) AS written
