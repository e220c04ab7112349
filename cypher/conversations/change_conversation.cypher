CYPHER 25
// Changes the title and the annotations of a conversation; no row if there is no such conversation.
//
// $client_id  string  the client
// $id         string  its id
// $changes    map     the changed properties; null removes one
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
SET conversation.locked = true
WITH conversation
// A node that was deleted while this waited for the lock has no properties.
WHERE conversation.next_position IS NOT NULL
SET conversation += $changes
RETURN
  conversation {.id, .title, tags: coalesce(conversation.tags, [])} AS conversation,
  conversation.metadata AS metadata
