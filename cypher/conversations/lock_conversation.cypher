CYPHER 25
// Locks a conversation for its single writer, then reads its next position, the next positions of the named
// sessions, and the messages that already exist.
//
// $client_id      string        the client
// $id             string        its id
// $session_names  list<string>  the caller's names of the sessions to write to
// $external_ids   list<string>  the caller's ids of the messages to write
// $ids            list<string>  our ids of the messages to write, already there after a lost answer
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
SET conversation.locked = true
WITH conversation
// A node that was deleted while this waited for the lock has no properties.
WHERE conversation.next_position IS NOT NULL
RETURN
  conversation.next_position AS next_position,
  COLLECT {
    UNWIND $session_names AS name
    MATCH (session:Session {client_id: $client_id, conversation_id: $id, external_id: name})
    CALL (session) {
      OPTIONAL MATCH (message:Message {client_id: $client_id, session_id: session.id})
      // The index only holds nodes with an idx: without this line it is not used.
      WHERE message.idx IS NOT NULL
      RETURN message.id AS last_message_id
      ORDER BY message.idx DESC
      LIMIT 1
    }
    RETURN session {
      .external_id, .id, .next_idx,
      last_message_id: last_message_id,
      summarized_idx: coalesce(session.summarized_idx, 0)
    }
  } AS sessions,
  COLLECT {
    UNWIND $external_ids AS external_id
    MATCH (message:Message {client_id: $client_id, conversation_id: $id, external_id: external_id})
    RETURN message {.external_id, .id}
  } AS known,
  COLLECT {
    UNWIND $ids AS message_id
    MATCH (message:Memory {client_id: $client_id, id: message_id})
    RETURN message.id
  } AS written
