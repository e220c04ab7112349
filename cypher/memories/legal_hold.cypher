CYPHER 25
// The reason for which a client's memories may not be deleted, null if there is none; locks the client, so that
// no hold begins meanwhile.
//
// $client_id  string  the client
OPTIONAL MATCH (client:Client {client_id: $client_id})
SET client.locked = true
RETURN client.legal_hold AS reason
