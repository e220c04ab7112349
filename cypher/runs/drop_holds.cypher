CYPHER 25
// Removes a run's holds that have expired.
//
// $client_id  string    whose run
// $id         string    its id
// $now        datetime  now
MATCH (run:Run {client_id: $client_id, id: $id})
SET run.locked = true
WITH run
// Without its label: with it the index of all clients' holds is searched instead.
MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
WHERE hold.expires_at <= $now
DETACH DELETE hold
RETURN count(*) AS written
