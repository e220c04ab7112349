CYPHER 25
// Removes contexts of a client that have expired, with the chunks they hold.
//
// $client_id  string    whose contexts
// $now        datetime  now
// $limit      int       how many at once
MATCH (context:Context {client_id: $client_id})
// The index holds what has an id: without this line it is not used.
WHERE context.id IS NOT NULL AND context.expires_at <= $now
WITH context
LIMIT $limit
DETACH DELETE context
RETURN count(*) AS written
