CYPHER 25
// Locks a client, so that its active runs are counted before another one starts.
//
// $client_id     string    the client
// $operation_id  string    the operation that may already have started a run
// $now           datetime  now; a run past its deadline is not active
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
