CYPHER 25
// The jobs with these keys, due at the given times: jobs that are new or have ended are queued; a running job
// is queued again when it ends. No row for a job that was swept at this moment.
//
// $client_id  string     the client
// $jobs       list<map>  {id, kind, key, payload, conversation_id?, run_at, earliest}, in the order of their kinds
// $now        datetime   now
// With `earliest`, a waiting job never moves to a later time; without it, the last call sets the time.
UNWIND $jobs AS row
MERGE (job:Job {client_id: $client_id, kind: row.kind, key: row.key})
ON CREATE SET
  job.id = row.id,
  job.state = 'queued',
  job.conversation_id = row.conversation_id,
  job.attempts = 0,
  job.run_at = row.run_at,
  job.created_at = $now
SET job.locked = true
WITH job, row
WHERE job.id IS NOT NULL
WITH
  job,
  row,
  job.state = 'running' AS running,
  CASE
    WHEN row.earliest AND job.state = 'running' AND job.again_at < row.run_at THEN job.again_at
    WHEN row.earliest AND job.state = 'queued' AND job.run_at < row.run_at THEN job.run_at
    ELSE row.run_at
  END AS run_at
SET
  job.payload = row.payload,
  job.again_at = CASE WHEN running THEN run_at ELSE null END,
  job.run_at = CASE WHEN running THEN job.run_at ELSE run_at END,
  job.state = CASE WHEN running THEN 'running' ELSE 'queued' END,
  job.attempts = CASE WHEN running THEN job.attempts ELSE 0 END,
  job.error = CASE WHEN running THEN job.error ELSE null END,
  job.finished_at = null
RETURN job.id AS id
