CYPHER 25
// Locks a run, decides whether an operation may begin, and reserves the tokens that it may use.
//
// $client_id     string    the client
// $id            string    its id
// $operation_id  string    the operation; if it is done, its record is the answer
// $access_id     string    the attempt, by the id of its record; attempts of one operation share a reservation
// $tokens        int       the number of tokens to reserve; 0 for none
// $retries       int       the number of retries so far
// $now           datetime  now
// $expires_at    datetime  the end of the reservation
MATCH (run:Run {client_id: $client_id, id: $id})
SET run.locked = true
WITH run
OPTIONAL MATCH (done:Access {client_id: $client_id, run_id: $id, operation_id: $operation_id})
WITH run, done, COLLECT {
  // No label here: with it, the index of all clients' holds would be searched instead.
  MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
  RETURN hold
} AS holds
WITH
  run, done,
  [hold IN holds WHERE hold.operation_id = $operation_id] AS own,
  [hold IN holds WHERE hold.operation_id <> $operation_id AND hold.expires_at > $now | hold.tokens]
    AS others
WITH run, done, own, reduce(sum = 0, tokens IN others | sum + tokens) AS held
WITH run, done, own, held, CASE
  WHEN done IS NOT NULL THEN 'done'
  WHEN run.status = 'timeout' OR (run.status = 'active' AND run.deadline <= $now) THEN 'timeout'
  WHEN run.status <> 'active' THEN 'ended'
  WHEN $retries > run.max_retries - run.retries - run.retries_given THEN 'no_retries'
  WHEN $tokens > run.max_tokens - run.spent - run.given - held THEN 'exhausted'
  ELSE 'granted'
END AS verdict
WITH run, done, own, held, verdict, verdict = 'granted' AND $tokens > 0 AS holding
FOREACH (hold IN CASE WHEN holding THEN own ELSE [] END |
  SET
    // Another attempt may be at work on it, unless it has expired.
    hold.tokens = CASE
      WHEN hold.expires_at > $now AND hold.tokens > $tokens THEN hold.tokens
      ELSE $tokens
    END,
    hold.attempts = CASE
      WHEN hold.expires_at > $now
        THEN [one IN coalesce(hold.attempts, []) WHERE one <> $access_id] + $access_id
      ELSE [$access_id]
    END,
    hold.expires_at = $expires_at
)
FOREACH (_ IN CASE WHEN holding AND size(own) = 0 THEN [true] ELSE [] END |
  // No one else can create it, since the run is locked. MERGE would cost twice as much.
  CREATE (run)-[:HOLDS]->(:Hold {
    client_id: $client_id, run_id: $id, operation_id: $operation_id,
    tokens: $tokens, expires_at: $expires_at, attempts: [$access_id]
  })
)
RETURN collect({
  verdict: verdict,
  done_operation: done.operation,
  done_params: done.params,
  done_answer: done.answer,
  remaining: run.max_tokens - run.spent - run.given - held,
  remaining_retries: run.max_retries - run.retries - run.retries_given,
  spent: run.spent,
  retries: run.retries,
  started_at: toString(run.started_at),
  deadline: toString(run.deadline),
  overdue: EXISTS {
    MATCH (run)-[:SPAWNED]->(child {client_id: $client_id})
    WHERE child.status = 'active' AND child.deadline <= $now
  }
}) AS rows
