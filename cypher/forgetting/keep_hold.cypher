CYPHER 25
// Begins a legal hold, or ends it.
//
// $client_id  string   the client
// $reason     string?  its reason; null ends it
MERGE (client:Client {client_id: $client_id})
SET client.legal_hold = $reason
RETURN count(*) AS written
