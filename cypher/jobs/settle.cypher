CYPHER 25
// Ends a claim: the job is done, queued again or given up. No row when the claim is another's by now.
//
// $client_id  string    whose job
// $id         string    its id
// $lease      string    the mark on the claim
// $state      string    done, queued or dead
// $run_at     datetime  when it is due again
// $error      string?   the class of what went wrong
// $attempts   int       how many attempts count
// $now        datetime  now
MATCH (job:Job {client_id: $client_id, id: $id})
SET job.locked = true
WITH job
WHERE job.lease = $lease AND job.state = 'running'
SET
  job.state = $state,
  job.run_at = $run_at,
  job.error = $error,
  job.attempts = $attempts,
  job.finished_at = CASE WHEN $state = 'queued' THEN null ELSE $now END
REMOVE job.lease
RETURN job.id AS id, job.state AS state, job.attempts AS attempts
