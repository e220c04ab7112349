CYPHER 25
// Deletes a memory and joins its neighbours; its idx stays unused.
//
// $client_id  string  whose memory
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
OPTIONAL MATCH (before:Memory {client_id: $client_id})-[:NEXT]->(memory)
OPTIONAL MATCH (memory)-[:NEXT]->(after:Memory {client_id: $client_id})
FOREACH (_ IN CASE WHEN before IS NULL OR after IS NULL THEN [] ELSE [true] END |
  CREATE (before)-[:NEXT]->(after)
)
DETACH DELETE memory
RETURN count(*) AS memories
