CYPHER 25
// Locks a run, judges whether an operation may begin, and holds the tokens that it may take.
//
// $client_id     string    whose run
// $id            string    its id
// $operation_id  string    the operation; one that is done answers instead
// $tokens        int       how many it may take; 0 holds none
// $retries       int       how often it has been tried again already
// $now           datetime  now
// $expires_at    datetime  until when the hold counts
MATCH (run:Run {client_id: $client_id, id: $id})
SET run.locked = true
WITH run
OPTIONAL MATCH (done:Access {client_id: $client_id, run_id: $id, operation_id: $operation_id})
WITH run, done, COLLECT {
  // Without its label: with it the index of all clients' holds is searched instead.
  MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
  WHERE hold.expires_at > $now AND hold.operation_id <> $operation_id
  RETURN hold.tokens
} AS others
WITH run, done, reduce(sum = 0, tokens IN others | sum + tokens) AS held
WITH run, done, held, CASE
  WHEN done IS NOT NULL THEN 'done'
  WHEN run.status = 'timeout' OR (run.status = 'active' AND run.deadline <= $now) THEN 'timeout'
  WHEN run.status <> 'active' THEN 'ended'
  WHEN $retries > run.max_retries - run.retries - run.retries_given THEN 'no_retries'
  WHEN $tokens > run.max_tokens - run.spent - run.given - held THEN 'exhausted'
  ELSE 'granted'
END AS verdict
FOREACH (_ IN CASE WHEN verdict = 'granted' AND $tokens > 0 THEN [true] ELSE [] END |
  MERGE (hold:Hold {client_id: $client_id, run_id: $id, operation_id: $operation_id})
  SET hold.tokens = $tokens, hold.expires_at = $expires_at
  MERGE (run)-[:HOLDS]->(hold)
)
RETURN
  verdict,
  done.operation AS done_operation,
  done.params AS done_params,
  done.answer AS done_answer,
  run.max_tokens - run.spent - run.given - held AS remaining,
  run.max_retries - run.retries - run.retries_given AS remaining_retries,
  run.spent AS spent,
  run.retries AS retries,
  run.started_at AS started_at,
  run.deadline AS deadline
