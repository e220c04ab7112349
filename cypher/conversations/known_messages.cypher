CYPHER 25
// The messages of a batch that a conversation already has; no row if there is no such conversation.
//
// $client_id     string        the client
// $id            string        its id
// $external_ids  list<string>  the caller's ids of the batch
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
RETURN COLLECT {
  UNWIND $external_ids AS external_id
  MATCH (message:Message {client_id: $client_id, conversation_id: $id, external_id: external_id})
  RETURN message {.external_id, .id}
} AS known
