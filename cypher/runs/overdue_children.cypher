CYPHER 25
// The active children of a run past its deadline: their budgets are not returned yet.
//
// $client_id  string    the client
// $id         string    its id
// $now        datetime  now
MATCH (:Run {client_id: $client_id, id: $id})-[:SPAWNED]->(run {client_id: $client_id})
WHERE run.status = 'active' AND run.deadline <= $now
RETURN run.client_id AS client_id, run.id AS id
ORDER BY id
