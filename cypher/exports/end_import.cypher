CYPHER 25
// Ends an import: nothing of it is left to do; what the client has is counted anew. Returns the reason of the
// client's legal hold.
//
// $client_id  string  the client
OPTIONAL MATCH (client:Client {client_id: $client_id})
SET client.import_sha256 = null, client.import_place = null
CALL () {
  MATCH (usage:Usage {client_id: $client_id})
  DELETE usage
}
RETURN client.legal_hold AS legal_hold
