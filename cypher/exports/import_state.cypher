CYPHER 25
// The unfinished import into a client, if there is one, and whether the client has anything.
//
// $client_id  string  the client
OPTIONAL MATCH (client:Client {client_id: $client_id})
RETURN
  coalesce(client.import_sha256, '') AS sha256,
  coalesce(client.import_place, '') AS place,
  EXISTS { MATCH (node:Memory {client_id: $client_id}) WHERE node.id IS NOT NULL }
    OR EXISTS { MATCH (node:Conversation {client_id: $client_id}) WHERE node.id IS NOT NULL }
    OR EXISTS { MATCH (node:Session {client_id: $client_id}) WHERE node.id IS NOT NULL }
    OR EXISTS { MATCH (node:Entity {client_id: $client_id}) WHERE node.normalized IS NOT NULL }
    OR EXISTS { MATCH (node:Review {client_id: $client_id}) WHERE node.id IS NOT NULL }
    OR EXISTS { MATCH (node:Run {client_id: $client_id}) WHERE node.id IS NOT NULL } AS taken
