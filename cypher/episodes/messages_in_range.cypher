CYPHER 25
// The messages of a session in a range of idx; no row if there is no such session.
//
// $client_id        string  the client
// $conversation_id  string  the conversation
// $session_id       string  the session's id, or the caller's name of it
// $from_idx         int     the first idx
// $to_idx           int     the last idx
// $limit            int     the maximum number
CALL () {
  MATCH (session:Session {client_id: $client_id, id: $session_id})
  WHERE session.conversation_id = $conversation_id
  RETURN session

  UNION

  MATCH (session:Session {
    client_id: $client_id, conversation_id: $conversation_id, external_id: $session_id
  })
  RETURN session
}
WITH session
LIMIT 1
RETURN
  session.next_idx AS next_idx,
  COLLECT {
    MATCH (message:Message {client_id: $client_id, session_id: session.id})
    WHERE message.idx >= $from_idx AND message.idx <= $to_idx
    RETURN message.id
    ORDER BY message.idx
    LIMIT $limit
  } AS ids
