CYPHER 25
// Locks a run, charges the tokens that an operation has delivered, records it, and releases the rest of its
// reservation. A refused attempt leaves it to others that are at work on it; `record` drops it after the last.
//
// $client_id     string        the client
// $id            string        its id
// $operation_id  string        the operation; if it is done, its record is the answer
// $access_id     string        the record's id
// $operation     string        the operation's name
// $held          boolean       whether tokens were reserved for it; nothing is charged if they were released
// $tokens        int           the number of tokens to charge
// $retries       int           the number of retries
// $params        string        the request, as JSON without texts
// $answer        string        the answer, as JSON without texts
// $at            datetime      when it began
// $now           datetime      now
// $duration_ms   float         how long it took
// $returned      list<map>     {id, rank, score, tokens} of the memories that were delivered
// $wrote         list<string>  the ids of the memories that were written
// $continues     string        the record of the retrieval that this one continues, or ''
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
  [hold IN holds WHERE hold.operation_id = $operation_id][0] AS hold,
  [hold IN holds WHERE hold.operation_id <> $operation_id AND hold.expires_at > $now | hold.tokens]
    AS others
WITH run, done, hold, others, CASE
  WHEN done IS NOT NULL THEN 'done'
  WHEN run.status = 'timeout' OR (run.status = 'active' AND run.deadline <= $now) THEN 'timeout'
  WHEN run.status <> 'active' THEN 'ended'
  WHEN $retries > run.max_retries - run.retries - run.retries_given THEN 'no_retries'
  WHEN $held AND (hold IS NULL OR hold.expires_at <= $now OR hold.tokens < $tokens) THEN 'expired'
  ELSE 'granted'
END AS verdict
FOREACH (settled IN CASE WHEN verdict IN ['granted', 'done'] THEN [hold] ELSE [] END |
  DETACH DELETE settled
)
WITH run, done, others, verdict
CALL (run, verdict) {
  WITH run, verdict
  WHERE verdict = 'granted'
  SET
    run.spent = run.spent + $tokens,
    run.retries = run.retries + $retries,
    run.retrievals = run.retrievals + CASE $operation WHEN 'retrieve' THEN 1 ELSE 0 END,
    run.writes = run.writes + CASE $operation WHEN 'write' THEN 1 ELSE 0 END
  CREATE (access:Access {
    client_id: $client_id,
    id: $access_id,
    run_id: $id,
    operation_id: $operation_id,
    operation: $operation,
    at: $at,
    tokens: $tokens,
    duration_ms: $duration_ms,
    params: $params,
    answer: $answer
  })
  CREATE (run)-[:PERFORMED]->(access)
  WITH access
  CALL (access) {
    UNWIND $returned AS row
    MATCH (memory:Memory {client_id: $client_id, id: row.id})
    CREATE (access)-[:RETURNED {rank: row.rank, score: row.score, tokens: row.tokens}]->(memory)
    RETURN count(*) AS edges
  }
  CALL (access) {
    UNWIND $wrote AS id
    MATCH (memory:Memory {client_id: $client_id, id: id})
    CREATE (access)-[:WROTE]->(memory)
    RETURN count(*) AS writings
  }
  CALL (access) {
    MATCH (page:Access {client_id: $client_id, id: $continues})
    CREATE (access)-[:CONTINUES]->(page)
    RETURN count(*) AS pages
  }
  RETURN count(*) AS recorded
}
RETURN collect({
  verdict: verdict,
  done_operation: done.operation,
  done_params: done.params,
  done_answer: done.answer,
  remaining: run.max_tokens - run.spent - run.given,
  remaining_retries: run.max_retries - run.retries - run.retries_given,
  spent: run.spent,
  retries: run.retries,
  started_at: toString(run.started_at),
  deadline: toString(run.deadline),
  overdue: EXISTS {
    MATCH (run)-[:SPAWNED]->(child {client_id: $client_id})
    WHERE child.status = 'active' AND child.deadline <= $now
  },
  holds: others,
  below: COLLECT {
    MATCH (run)(()-[:SPAWNED]->(:Run {client_id: $client_id})){1,4}(below:Run)
    RETURN below {.spent, .retries}
  }
}) AS rows
