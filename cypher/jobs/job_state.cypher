CYPHER 25
// The id of a job; no row if it was deleted.
//
// $client_id  string  the client
// $id         string  its id
MATCH (job:Job {client_id: $client_id, id: $id})
RETURN job.id AS id
