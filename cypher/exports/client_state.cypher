CYPHER 25
// The numbers that change when memories or conversations of a client are added or deleted: theirs, and the
// time of the newest memory.
//
// $client_id  string  the client
CALL () {
  OPTIONAL MATCH (memory:Memory {client_id: $client_id})
  WHERE memory.created_at IS NOT NULL
  RETURN memory.created_at AS newest
  ORDER BY memory.client_id DESC, memory.created_at DESC
  LIMIT 1
}
RETURN
  newest,
  COUNT {
    MATCH (memory:Memory {client_id: $client_id})
    WHERE memory.id IS NOT NULL
  } AS memories,
  COUNT {
    MATCH (conversation:Conversation {client_id: $client_id})
    WHERE conversation.id IS NOT NULL
  } AS conversations
