CYPHER 25
// The active runs of a client right under a run whose time is over: their budgets are still out.
//
// $client_id  string    whose run
// $id         string    its id
// $now        datetime  now
MATCH (:Run {client_id: $client_id, id: $id})-[:SPAWNED]->(run {client_id: $client_id})
WHERE run.status = 'active' AND run.deadline <= $now
RETURN run.client_id AS client_id, run.id AS id
ORDER BY id
