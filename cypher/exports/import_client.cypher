CYPHER 25
// Gives a client the settings of an export.
//
// $client_id   string  the client
// $properties  map     its settings
MERGE (client:Client {client_id: $client_id})
SET client += $properties
RETURN count(*) AS written
