CYPHER 25
// The titles of conversations, and the messages of batches that they already have; no row for a conversation that
// does not exist.
//
// $client_id      string     the client
// $conversations  list<map>  {id, external_ids}: their ids, and the caller's ids of the messages
UNWIND $conversations AS asked
MATCH (conversation:Conversation {client_id: $client_id, id: asked.id})
RETURN
  conversation.id AS conversation_id,
  conversation.title AS title,
  COLLECT {
    UNWIND asked.external_ids AS external_id
    MATCH (message:Message {client_id: $client_id, conversation_id: asked.id, external_id: external_id})
    RETURN message {.external_id, .id}
  } AS known
ORDER BY conversation_id
