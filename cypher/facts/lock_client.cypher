CYPHER 25
// Locks a client's node, made where there was none: what belongs to no conversation has one writer too.
//
// $client_id  string  which client
MERGE (client:Client {client_id: $client_id})
SET client.locked = true
RETURN count(*) AS written
