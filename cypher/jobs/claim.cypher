CYPHER 25
// Claims one of the longest due jobs of any client, since a worker serves all clients. A claimed job is due
// again when its lease ends: if a worker dies, the job is delayed, not lost. A job without attempts left is
// given up.
//
// $kinds         list<string>  the kinds of jobs that the worker can do
// $lease         string        the worker's mark on this claim
// $now           datetime      now
// $lease_until   datetime      the end of the lease
// $most_attempts int           the number of attempts after which a job is given up
UNWIND ['queued', 'running'] AS state
CALL (state) {
  MATCH (job:Job)
  WHERE job.state = state AND job.run_at <= $now AND job.kind IN $kinds
  RETURN job
  // As in the index.
  ORDER BY job.state, job.run_at
  LIMIT 8
}
// A random one of the first jobs, so that workers seldom compete for the same job.
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
