CYPHER 25
// Ends the versions of an imported client where a newer one begins first, as the schema file 021_ends does in a
// store.
//
// $client_id  string  the client
MATCH (newer:Memory {client_id: $client_id})-[:SUPERSEDES]->(head:Memory {client_id: $client_id})
WHERE newer.valid_at < head.valid_at
MATCH (head)(()-[:SUPERSEDES]->(:Memory {client_id: $client_id})){1,}(memory:Memory)
WHERE newer.valid_at < memory.invalid_at
WITH memory, min(newer.valid_at) AS replaced
WHERE memory.valid_at < memory.invalid_at
SET memory.invalid_at =
  CASE WHEN replaced < memory.valid_at THEN memory.valid_at ELSE replaced END
RETURN count(*) AS written
