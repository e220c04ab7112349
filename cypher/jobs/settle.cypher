CYPHER 25
// Ends a claim: the job is done, queued again or given up. A job that was requested again meanwhile is queued
// for that time with no attempts used. No row if another worker has claimed the job.
//
// $client_id  string    the client
// $id         string    its id
// $lease      string    the mark on the claim
// $state      string    done, queued or dead
// $run_at     datetime  when it is due again
// $error      string?   the class of the error
// $attempts   int       the number of attempts that count
// $now        datetime  now
MATCH (job:Job {client_id: $client_id, id: $id})
SET job.locked = true
WITH job
WHERE job.lease = $lease AND job.state = 'running'
WITH job, $state <> 'queued' AND job.again_at IS NOT NULL AS again
SET
  job.state = CASE WHEN again THEN 'queued' ELSE $state END,
  job.run_at = CASE WHEN again THEN job.again_at ELSE $run_at END,
  job.error = $error,
  job.attempts = CASE WHEN again THEN 0 ELSE $attempts END,
  job.finished_at = CASE WHEN again OR $state = 'queued' THEN null ELSE $now END
REMOVE job.lease, job.again_at
RETURN job.id AS id
