CYPHER 25
// Records an operation that was refused or failed, charges its retries, and drops its reservation, unless
// another attempt of the same operation is at work on it.
//
// $client_id     string    the client
// $id            string    its id
// $operation_id  string    the operation
// $access_id     string    the record's id; recording it again changes nothing
// $operation     string    the operation's name
// $retries       int       the number of retries; charged up to the run's remaining retries
// $params        string    the request, as JSON without texts
// $error         string    the error
// $at            datetime  when it began
// $duration_ms   float     how long it took
MATCH (run:Run {client_id: $client_id, id: $id})
SET run.locked = true
WITH run
OPTIONAL MATCH (hold:Hold {client_id: $client_id, run_id: $id, operation_id: $operation_id})
SET hold.attempts = [one IN coalesce(hold.attempts, []) WHERE one <> $access_id]
FOREACH (idle IN CASE WHEN size(hold.attempts) = 0 THEN [hold] ELSE [] END |
  DETACH DELETE idle
)
WITH run
OPTIONAL MATCH (known:Access {client_id: $client_id, id: $access_id})
WITH run, known
WHERE known IS NULL
WITH run, run.max_retries - run.retries - run.retries_given AS left
SET run.retries = run.retries
  + CASE WHEN run.status <> 'active' THEN 0 WHEN $retries < left THEN $retries ELSE left END
CREATE (access:Access {
  client_id: $client_id,
  id: $access_id,
  run_id: $id,
  operation: $operation,
  at: $at,
  tokens: 0,
  duration_ms: $duration_ms,
  params: $params,
  error: $error
})
CREATE (run)-[:PERFORMED]->(access)
RETURN count(*) AS written
