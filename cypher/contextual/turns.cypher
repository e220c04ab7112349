CYPHER 25
// Some messages with their texts, in the order of their places.
//
// $client_id  string        the client
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (message:Memory {client_id: $client_id, id: id})
WHERE message.kind = 'message'
WITH message
ORDER BY message.idx
RETURN collect(message {
  .id, .session_id, .idx, .role, .name, .token_count,
  content: coalesce(message.text, message.search_text, ''),
  occurred_at: toString(message.occurred_at)
}) AS rows
