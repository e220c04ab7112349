CYPHER 25
// The job with this key, queued where there was none; one that is there stays as it is.
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
  job.payload = $payload,
  job.conversation_id = $conversation_id,
  job.state = 'queued',
  job.run_at = $run_at,
  job.attempts = 0,
  job.created_at = $now
RETURN job.id AS id, job.state AS state, job.attempts AS attempts
