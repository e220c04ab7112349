CYPHER 25
// Deletes a conversation, its sessions and the memories that came in between; locked against writers.
//
// $client_id  string  whose conversation
// $id         string  its id
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
SET conversation.locked = true
WITH conversation
// Deleted while this waited for the lock, it has no properties any more.
WHERE conversation.next_position IS NOT NULL
WITH
  conversation,
  COLLECT { MATCH (memory:Memory {client_id: $client_id, conversation_id: $id}) RETURN memory }
    AS memories,
  COLLECT {
    MATCH (session:Session {client_id: $client_id, conversation_id: $id})
    // The index holds what has an external_id: without this line it is not used.
    WHERE session.external_id IS NOT NULL
    RETURN session
  } AS sessions
FOREACH (memory IN memories | DETACH DELETE memory)
FOREACH (session IN sessions | DETACH DELETE session)
DETACH DELETE conversation
RETURN size(sessions) AS sessions, size(memories) AS memories
