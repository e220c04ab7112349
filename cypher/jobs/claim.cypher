CYPHER 25
// Claims one of the jobs that are due longest, of any client: a worker works for all. A claimed job is due again when
// its lease ends, so that a worker's death delays a job and loses none. One whose attempts are used
// up is given up instead.
//
// $kinds         list<string>  what the worker can do
// $lease         string        the worker's mark on this claim
// $now           datetime      now
// $lease_until   datetime      until when the claim holds
// $most_attempts int           after how many attempts a job is given up
UNWIND ['queued', 'running'] AS state
CALL (state) {
  MATCH (job:Job)
  WHERE job.state = state AND job.run_at <= $now AND job.kind IN $kinds
  RETURN job
  ORDER BY job.run_at
  LIMIT 8
}
// By chance among the first, so that workers seldom want the same.
WITH job
ORDER BY rand()
LIMIT 1
SET job.locked = true
WITH job
WHERE job.state IN ['queued', 'running'] AND job.run_at <= $now
SET
  job.state = CASE WHEN job.attempts >= $most_attempts THEN 'dead' ELSE 'running' END,
  job.error = CASE WHEN job.attempts >= $most_attempts
    THEN coalesce(job.error, 'LeaseExpired') ELSE job.error END,
  job.attempts = CASE WHEN job.attempts >= $most_attempts
    THEN job.attempts ELSE job.attempts + 1 END,
  job.lease = $lease,
  job.run_at = $lease_until
RETURN
  job.client_id AS client_id,
  job.id AS id,
  job.kind AS kind,
  job.key AS key,
  job.payload AS payload,
  job.state AS state,
  job.attempts AS attempts,
  job.lease AS lease
