CYPHER 25
// The clients of whom memories expire by a time, each with the first of these times: of any client, but those
// under a legal hold, and those of whom an import has not ended: what goes with a memory is found by its edges.
//
// $until  datetime  the time
MATCH (memory:Memory)
WHERE memory.expires_at <= $until
WITH memory.client_id AS client_id, min(memory.expires_at) AS expires_at
OPTIONAL MATCH (client:Client {client_id: client_id})
WITH client_id, expires_at, client
WHERE client.legal_hold IS NULL AND client.import_place IS NULL
RETURN client_id, expires_at
