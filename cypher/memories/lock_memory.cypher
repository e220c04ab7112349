CYPHER 25
// Locks the conversation that a memory belongs to, where it belongs to one, and all versions of the
// memory; tells how many were locked, how many there are by now, and whose content a span is part of.
//
// $client_id  string  whose memory
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
