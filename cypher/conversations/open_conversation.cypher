CYPHER 25
// The conversation with this id, created if there was none.
//
// $client_id   string    the client
// $id          string    its id
// $title       string?   its title; null keeps the present one
// $created_at  datetime  now
OPTIONAL MATCH (known:Conversation {client_id: $client_id, id: $id})
MERGE (conversation:Conversation {client_id: $client_id, id: $id})
ON CREATE SET conversation.created_at = $created_at, conversation.next_position = 0
SET conversation.title = coalesce($title, conversation.title)
RETURN conversation.id AS id, conversation.title AS title, known IS NULL AS created
