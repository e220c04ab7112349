CYPHER 25
// Deletes some of a conversation's memories, and the reads outside of runs that returned any of them, with
// their questions.
//
// $client_id  string        the client
// $id         string        its id
// $ids        list<string>  the ids of the memories
UNWIND $ids AS memory_id
MATCH (memory:Memory {client_id: $client_id, id: memory_id})
WHERE memory.conversation_id = $id
WITH collect(memory) AS gone
WITH
  gone,
  COLLECT {
    UNWIND gone AS memory
    MATCH (memory)-[:MENTIONS|NAMES]->(entity:Entity {client_id: $client_id})
    RETURN DISTINCT entity.normalized
  } AS entities
CALL (gone) {
  UNWIND gone AS memory
  MATCH (memory)<-[:RETURNED]-(access:Access {client_id: $client_id, run_id: ''})
  WITH DISTINCT access
  DETACH DELETE access
}
// include uncount
// include delete_passages
FOREACH (memory IN gone | DETACH DELETE memory)
RETURN size(gone) AS memories, entities
