CYPHER 25
// Locks all versions of a memory and, if it belongs to one, its conversation; returns the number of locked
// versions, the number of versions now, and the reference of a span.
//
// $client_id  string  the client
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
OPTIONAL MATCH (conversation:Conversation {client_id: $client_id, id: memory.conversation_id})
SET conversation.locked = true
WITH memory
CALL (memory) {
  MATCH (memory)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(version:Memory)
  WITH DISTINCT version
  SET version.locked = true
  RETURN count(*) AS locked
}
CALL (memory) {
  MATCH (memory)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(version:Memory)
  RETURN count(DISTINCT version) AS there
}
RETURN
  locked,
  there,
  COLLECT {
    MATCH (memory)-[:PART_OF]->(reference:Reference {client_id: $client_id})
    RETURN reference.id
  } AS content_of
