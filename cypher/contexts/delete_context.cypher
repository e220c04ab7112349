CYPHER 25
// Deletes a context that has not expired, with its chunks.
//
// $client_id  string    the client
// $id         string    its id
// $now        datetime  now
MATCH (context:Context {client_id: $client_id, id: $id})
SET context.locked = true
WITH context
// A node that was deleted while this waited for the lock has no properties.
WHERE context.expires_at > $now
DETACH DELETE context
RETURN count(*) AS written
