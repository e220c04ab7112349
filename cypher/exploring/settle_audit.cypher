CYPHER 25
// Keeps how a statement ended.
//
// $client_id   string  whose statement
// $id          string  its entry's id
// $properties  map     what is kept of its end
MATCH (audit:Audit {client_id: $client_id, id: $id})
SET audit += $properties
RETURN count(*) AS written
