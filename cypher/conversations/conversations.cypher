CYPHER 25
// A client's conversations, the latest first, each with the numbers of its sessions and messages.
//
// $client_id  string    the client
// $before     datetime  created before this time
// $before_id  string    and, at that time, with a lower id
// $limit      int       the maximum number
MATCH (conversation:Conversation {client_id: $client_id})
USING INDEX conversation:Conversation(client_id, created_at, id)
WHERE conversation.created_at <= $before AND conversation.id IS NOT NULL
  // With OR the index may be read twice, and whole.
  AND CASE WHEN conversation.created_at = $before THEN conversation.id < $before_id ELSE true END
  // include tagged(conversation)
WITH conversation
// As in the index.
ORDER BY conversation.client_id DESC, conversation.created_at DESC, conversation.id DESC
LIMIT $limit
CALL (conversation) {
  OPTIONAL MATCH (session:Session {client_id: $client_id, conversation_id: conversation.id})
  // The index only holds nodes with an external_id: without this line it is not used.
  WHERE session.external_id IS NOT NULL
  RETURN count(session) AS sessions, max(session.last_active_at) AS last_active_at
}
RETURN collect({metadata: conversation.metadata, conversation: conversation {
  .id, .title, sessions,
  tags: coalesce(conversation.tags, []),
  created_at: toString(conversation.created_at),
  last_active_at: toString(last_active_at),
  messages: COUNT {
    MATCH (message:Message {client_id: $client_id, conversation_id: conversation.id})
    // As above.
    WHERE message.position IS NOT NULL
  }
}}) AS rows
