CYPHER 25
// The conversation with this id, created if there was none.
//
// $client_id   string        the client
// $id          string        its id
// $title       string?       its title; null keeps the present one
// $metadata    string?       its metadata, JSON; null keeps the present one
// $tags        list<string>  its tags; empty keeps the present ones
// $created_at  datetime      now
OPTIONAL MATCH (known:Conversation {client_id: $client_id, id: $id})
MERGE (conversation:Conversation {client_id: $client_id, id: $id})
ON CREATE SET conversation.created_at = $created_at, conversation.next_position = 0
SET
  conversation.title = coalesce($title, conversation.title),
  conversation.metadata = coalesce($metadata, conversation.metadata),
  conversation.tags = CASE WHEN size($tags) = 0 THEN conversation.tags ELSE $tags END
RETURN
  conversation {.id, .title, tags: coalesce(conversation.tags, []), created: known IS NULL} AS conversation,
  conversation.metadata AS metadata
