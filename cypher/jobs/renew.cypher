CYPHER 25
// Extends a lease; no row if another worker has claimed the job.
//
// $client_id    string    the client
// $id           string    its id
// $lease        string    the mark on the claim
// $lease_until  datetime  the new end of the lease
MATCH (job:Job {client_id: $client_id, id: $id})
SET job.locked = true
WITH job
WHERE job.lease = $lease AND job.state = 'running'
SET job.run_at = $lease_until
RETURN job.id AS id
