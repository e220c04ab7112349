CYPHER 25
// Moves the end of a claim on; no row when the claim is another's by now.
//
// $client_id    string    whose job
// $id           string    its id
// $lease        string    the mark on the claim
// $lease_until  datetime  until when the claim is to hold
MATCH (job:Job {client_id: $client_id, id: $id})
SET job.locked = true
WITH job
WHERE job.lease = $lease AND job.state = 'running'
SET job.run_at = $lease_until
RETURN job.id AS id, job.state AS state, job.attempts AS attempts
