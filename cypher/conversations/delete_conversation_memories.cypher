CYPHER 25
// Deletes a batch of a conversation's memories.
//
// $client_id  string  the client
// $id         string  its id
// $limit      int     the batch size
MATCH (memory:Memory {client_id: $client_id, conversation_id: $id})
WITH memory
LIMIT $limit
WITH collect(memory) AS gone
WITH
  gone,
  COLLECT {
    UNWIND gone AS memory
    MATCH (memory)-[:MENTIONS|NAMES]->(entity:Entity {client_id: $client_id})
    RETURN DISTINCT entity.normalized
  } AS entities
// include delete_passages
FOREACH (memory IN gone | DETACH DELETE memory)
RETURN size(gone) AS memories, entities
