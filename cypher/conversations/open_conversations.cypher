CYPHER 25
// The conversations with these ids, created where there were none.
//
// $client_id      string     the client
// $conversations  list<map>  {id, title?, metadata?, tags}, in the order of their ids, so that concurrent writers do
// not deadlock; without a title the present one stays, without metadata, JSON, and with empty tags too
// $created_at     datetime   now
UNWIND $conversations AS row
OPTIONAL MATCH (known:Conversation {client_id: $client_id, id: row.id})
MERGE (conversation:Conversation {client_id: $client_id, id: row.id})
ON CREATE SET conversation.created_at = $created_at, conversation.next_position = 0
SET
  conversation.title = coalesce(row.title, conversation.title),
  conversation.metadata = coalesce(row.metadata, conversation.metadata),
  conversation.tags = CASE WHEN size(row.tags) = 0 THEN conversation.tags ELSE row.tags END
RETURN
  conversation {.id, .title, tags: coalesce(conversation.tags, []), created: known IS NULL} AS conversation,
  conversation.metadata AS metadata
