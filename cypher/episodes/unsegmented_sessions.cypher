CYPHER 25
// The sessions of a conversation that hold messages which were not looked at for episodes; no row when
// there is no such conversation.
//
// $client_id  string  whose conversation
// $id         string  its id
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
RETURN COLLECT {
  MATCH (session:Session {client_id: $client_id, conversation_id: $id})
  // The index holds what has an external_id: without this line it is not used.
  WHERE session.external_id IS NOT NULL
    AND session.next_idx > coalesce(session.segmented_idx, 0)
  RETURN session {
    .id,
    segmented_idx: coalesce(session.segmented_idx, 0),
    last_active_at: toString(session.last_active_at)
  }
  ORDER BY session.started_at, session.id
} AS sessions
