CYPHER 25
// Locks a client, so that its active runs are counted before there is one more.
//
// $client_id     string    whose runs
// $operation_id  string    what may have started a run already
// $now           datetime  now: a run whose time is over is active no more
MERGE (client:Client {client_id: $client_id})
SET client.locked = true
WITH client
RETURN
  COUNT {
    MATCH (run:Run {client_id: $client_id, status: 'active'})
    WHERE run.deadline > $now
  } AS active,
  COLLECT {
    MATCH (run:Run {client_id: $client_id, operation_id: $operation_id})
    MATCH (run)-[:PERFORMED]->(access:Access {client_id: $client_id, operation: 'start'})
    RETURN {id: run.id, params: access.params}
  } AS started
