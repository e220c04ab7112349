CYPHER 25
// Removes a run's expired reservations.
//
// $client_id  string    the client
// $id         string    its id
// $now        datetime  now
MATCH (run:Run {client_id: $client_id, id: $id})
SET run.locked = true
WITH run
// No label here: with it, the index of all clients' holds would be searched instead.
MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
WHERE hold.expires_at <= $now
DETACH DELETE hold
RETURN count(*) AS written
