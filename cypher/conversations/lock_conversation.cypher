CYPHER 25
// Locks a conversation for its one writer, then reads what the writer must know: where its positions,
// and those of the sessions named, continue, and which messages are there already.
//
// $client_id      string        whose conversation
// $id             string        its id
// $session_names  list<string>  the caller's names of the sessions to be written to
// $external_ids   list<string>  the caller's ids of the messages to be written
// $ids            list<string>  our ids of the messages to be written, there after a lost answer
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
SET conversation.locked = true
WITH conversation
// Deleted while this waited for the lock, it has no properties any more.
WHERE conversation.next_position IS NOT NULL
RETURN
  conversation.next_position AS next_position,
  COLLECT {
    UNWIND $session_names AS name
    MATCH (session:Session {client_id: $client_id, conversation_id: $id, external_id: name})
    CALL (session) {
      OPTIONAL MATCH (message:Message {client_id: $client_id, session_id: session.id})
      // The index holds what has an idx: without this line it is not used.
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
