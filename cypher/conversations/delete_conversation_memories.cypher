CYPHER 25
// Deletes some of a conversation's memories.
//
// $client_id  string  whose conversation
// $id         string  its id
// $limit      int     how many at once
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
FOREACH (memory IN gone | DETACH DELETE memory)
RETURN size(gone) AS memories, entities
