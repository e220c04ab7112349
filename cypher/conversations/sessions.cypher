CYPHER 25
// A conversation's sessions, the latest start first, each with the number of its messages, and the number of
// all sessions; no row if there is no such conversation.
//
// $client_id  string    the client
// $id         string    the conversation
// $before     datetime  started before this time
// $before_id  string    and, at that time, with a lower id
// $limit      int       the maximum number
MATCH (:Conversation {client_id: $client_id, id: $id})
RETURN
  COUNT {
    MATCH (session:Session {client_id: $client_id, conversation_id: $id})
    // The index only holds nodes with an external_id: without this line it is not used.
    WHERE session.external_id IS NOT NULL
  } AS total,
  COLLECT {
    MATCH (session:Session {client_id: $client_id, conversation_id: $id})
    WHERE session.external_id IS NOT NULL // as above
      AND session.started_at <= $before
      // With OR the sessions may be read twice.
      AND CASE WHEN session.started_at = $before THEN session.id < $before_id ELSE true END
    WITH session
    ORDER BY session.started_at DESC, session.id DESC
    LIMIT $limit
    RETURN session {
      .id, .external_id,
      started_at: toString(session.started_at),
      last_active_at: toString(session.last_active_at),
      messages: COUNT {
        MATCH (message:Message {client_id: $client_id, session_id: session.id})
        WHERE message.idx IS NOT NULL // as above
      }
    }
  } AS sessions
