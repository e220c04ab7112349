CYPHER 25
// The beginnings of messages of a conversation, in the order of their arrival.
//
// $client_id        string        the client
// $conversation_id  string        the conversation
// $ids              list<string>  their ids
// $characters       int           the length of a beginning
UNWIND $ids AS id
MATCH (message:Memory {client_id: $client_id, id: id})
WHERE message.kind = 'message' AND message.conversation_id = $conversation_id
WITH message
ORDER BY message.position
RETURN collect(message {
  .id, .session_id, .role, .name,
  text: left(message.text, $characters),
  occurred_at: toString(message.occurred_at)
}) AS rows
