CYPHER 25
// The job with this key, queued if there was none; an existing job is not changed.
//
// $client_id        string    the client
// $id               string    its id, if it is new
// $kind             string    the kind of work
// $key              string    the object of the work
// $payload          string    the input of the work, as JSON
// $conversation_id  string?   the conversation that it belongs to; null for none
// $run_at           datetime  the earliest time to run
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
RETURN job.id AS id
