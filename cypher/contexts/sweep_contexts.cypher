CYPHER 25
// Removes a client's expired contexts with their chunks.
//
// $client_id  string    the client
// $now        datetime  now
// $limit      int       the batch size
MATCH (context:Context {client_id: $client_id})
// The index only holds nodes with an id: without this line it is not used.
WHERE context.id IS NOT NULL AND context.expires_at <= $now
WITH context
LIMIT $limit
DETACH DELETE context
RETURN count(*) AS written
