CYPHER 25
// Gives a client the settings of an export, but neither another id nor another legal hold in place of its own.
//
// $client_id   string  the client
// $properties  map     its settings
MERGE (client:Client {client_id: $client_id})
WITH client, $properties AS given
SET client += given {
  .*,
  client_id: $client_id,
  legal_hold: coalesce(client.legal_hold, given.legal_hold)
}
RETURN count(*) AS written
