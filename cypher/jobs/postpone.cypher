CYPHER 25
// The job with this key, due at this time whenever it was due before: queued where there was none or where
// it has ended; one that runs just now is queued for then when it ends. No row when it was swept just now.
//
// $client_id        string    whose job
// $id               string    its id, should it be new
// $kind             string    what is to be done
// $key              string    what it is done to
// $payload          string    what the work needs to know, as JSON
// $conversation_id  string?   the conversation that it goes with; null belongs to none
// $run_at           datetime  not before when
// $now              datetime  now
MERGE (job:Job {client_id: $client_id, kind: $kind, key: $key})
ON CREATE SET
  job.id = $id,
  job.state = 'queued',
  job.conversation_id = $conversation_id,
  job.attempts = 0,
  job.created_at = $now
SET job.locked = true
WITH job
WHERE job.id IS NOT NULL
WITH job, job.state = 'running' AS running
SET
  job.payload = $payload,
  job.again_at = CASE WHEN running THEN $run_at ELSE null END,
  job.run_at = CASE WHEN running THEN job.run_at ELSE $run_at END,
  job.state = CASE WHEN running THEN 'running' ELSE 'queued' END,
  job.attempts = CASE WHEN running THEN job.attempts ELSE 0 END,
  job.error = CASE WHEN running THEN job.error ELSE null END,
  job.finished_at = null
RETURN job.id AS id, job.state AS state, job.attempts AS attempts
