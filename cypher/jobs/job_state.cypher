CYPHER 25
// The present state of a job; no row if it was deleted.
//
// $client_id  string  the client
// $id         string  its id
MATCH (job:Job {client_id: $client_id, id: $id})
RETURN job.id AS id, job.state AS state, job.attempts AS attempts
