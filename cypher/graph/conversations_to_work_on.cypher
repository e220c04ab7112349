CYPHER 25
// Counts the conversations of all clients that wait for a job of a kind that is due or at work.
//
// $kind  string    the kind of the job
// $now   datetime  now
CALL () {
  MATCH (job:Job {state: 'queued'})
  WHERE job.run_at <= $now
  RETURN job

  UNION ALL

  MATCH (job:Job {state: 'running'})
  WHERE job.run_at IS NOT NULL
  RETURN job
}
WITH job
WHERE job.kind = $kind
RETURN count(job) AS conversations
