CYPHER 25
// The reason for which a client's memories may not be deleted, null if there is none; locks the client, so that
// no hold begins meanwhile.
//
// $client_id  string  the client
// In a query that writes, the seek in the unique index locks the id where there is no node too. A MERGE would
// leave a node of each client of whom something was to be deleted.
OPTIONAL MATCH (client:Client {client_id: $client_id})
SET client.locked = true
RETURN client.legal_hold AS reason
