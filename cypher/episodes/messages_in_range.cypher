CYPHER 25
// The messages of a session in a range of idx; no row if there is no such session.
//
// $client_id        string  the client
// $conversation_id  string  the conversation
// $session_id       string  the caller's name of the session, or its own id
// $from_idx         int     the first idx
// $to_idx           int     the last idx
// $limit            int     the maximum number
CALL () {
  MATCH (session:Session {client_id: $client_id, id: $session_id})
  WHERE session.conversation_id = $conversation_id
  RETURN session, 1 AS place

  UNION ALL

  MATCH (session:Session {
    client_id: $client_id, conversation_id: $conversation_id, external_id: $session_id
  })
  RETURN session, 0 AS place
}
WITH session
ORDER BY place
LIMIT 1
RETURN
  session.next_idx AS next_idx,
  COLLECT {
    MATCH (message:Message {client_id: $client_id, session_id: session.id})
    WHERE message.idx >= $from_idx AND message.idx <= $to_idx
    RETURN message.id
    // As in the index.
    ORDER BY message.client_id, message.session_id, message.idx
    LIMIT $limit
  } AS ids
