CYPHER 25
// The sessions of a conversation with messages since their last summary; no row if there is no such
// conversation.
//
// $client_id  string  the client
// $id         string  its id
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
RETURN COLLECT {
  MATCH (session:Session {client_id: $client_id, conversation_id: $id})
  // The index only holds nodes with an external_id: without this line it is not used.
  WHERE session.external_id IS NOT NULL
    AND session.next_idx > coalesce(session.summarized_idx, 0)
  RETURN session {
    .id,
    new: session.next_idx - coalesce(session.summarized_idx, 0),
    last_active_at: toString(session.last_active_at)
  }
  ORDER BY session.last_active_at, session.id
} AS sessions
