CYPHER 25
// Locks a client's node, created if there was none: memories without a conversation have a single writer too.
//
// $client_id  string  the client
MERGE (client:Client {client_id: $client_id})
SET client.locked = true
RETURN count(*) AS written
