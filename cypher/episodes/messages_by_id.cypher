CYPHER 25
// Messages of a conversation, in the order in which they came.
//
// $client_id        string        whose messages
// $conversation_id  string        which conversation
// $ids              list<string>  their ids
UNWIND $ids AS id
MATCH (message:Memory {client_id: $client_id, id: id})
WHERE message.kind = 'message' AND message.conversation_id = $conversation_id
WITH message
ORDER BY message.position
RETURN collect(message {
  .id, .session_id, .role, .name, .text, occurred_at: toString(message.occurred_at)
}) AS rows
