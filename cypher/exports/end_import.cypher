CYPHER 25
// Ends an import: nothing of it is left to do.
//
// $client_id  string  the client
MATCH (client:Client {client_id: $client_id})
SET client.import_sha256 = null, client.import_place = null
RETURN count(*) AS written
