CYPHER 25
// Deletes a context that has not expired, with the chunks it holds.
//
// $client_id  string    whose context
// $id         string    its id
// $now        datetime  now
MATCH (context:Context {client_id: $client_id, id: $id})
SET context.locked = true
WITH context
// Deleted while this waited for the lock, it has no properties any more.
WHERE context.expires_at > $now
DETACH DELETE context
RETURN count(*) AS written
