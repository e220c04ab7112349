CYPHER 25
// A run and all runs below it: tokens spent, reserved, given, left and returned, and the number of operations
// of each kind.
//
// $client_id  string    the client
// $id         string    its id
// $now        datetime  now; an overdue run has timed out, an expired reservation does not count
MATCH (root:Run {client_id: $client_id, id: $id})
MATCH (root)(()-[:SPAWNED]->(:Run {client_id: $client_id})){0,4}(run:Run)
OPTIONAL MATCH (parent:Run {client_id: $client_id})-[:SPAWNED]->(run)
WITH
  run,
  parent.id AS parent_id,
  run.status = 'active' AND run.deadline <= $now AS overdue,
  reduce(sum = 0, tokens IN COLLECT {
    // No label here: with it, the index of all clients' holds would be searched instead.
    MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
    WHERE hold.expires_at > $now
    RETURN hold.tokens
  } | sum + tokens) AS held,
  COLLECT {
    MATCH (run)-[:PERFORMED]->(access:Access {client_id: $client_id})
    WITH access.operation AS operation, count(*) AS times
    RETURN {operation: operation, times: times}
    ORDER BY operation
  } AS operations
ORDER BY run.depth, run.started_at, run.id
RETURN collect(run {
  .id,
  parent_session_id: parent_id,
  .agent_type,
  .depth,
  status: CASE WHEN overdue THEN 'timeout' ELSE run.status END,
  outcome: CASE WHEN overdue THEN 'timeout' ELSE run.outcome END,
  .max_tokens,
  .spent,
  held: held,
  .given,
  remaining: run.max_tokens - run.spent - run.given - held,
  returned: CASE WHEN parent_id IS NULL THEN 0 ELSE run.returned END,
  retries_used: run.retries,
  operations: operations,
  started_at: toString(run.started_at),
  ended_at: toString(run.ended_at)
}) AS rows
