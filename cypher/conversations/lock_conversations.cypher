CYPHER 25
// Locks conversations for their single writer, then reads for each its next position, the next positions of the
// named sessions, and the messages that already exist. No row for a conversation that does not exist.
//
// $client_id      string     the client
// $conversations  list<map>  {id, session_names, external_ids, ids}, in the order of their ids, so that concurrent
// writers do not deadlock; see below
// session_names are the caller's names of the sessions to write to, external_ids the caller's ids of the messages
// to write, and ids our ids of them, already there after a lost answer.
UNWIND $conversations AS asked
MATCH (conversation:Conversation {client_id: $client_id, id: asked.id})
SET conversation.locked = true
WITH conversation, asked
// A node that was deleted while this waited for the lock has no properties.
WHERE conversation.next_position IS NOT NULL
RETURN
  asked.id AS conversation_id,
  conversation.next_position AS next_position,
  COLLECT {
    UNWIND asked.session_names AS name
    MATCH (session:Session {client_id: $client_id, conversation_id: asked.id, external_id: name})
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
    UNWIND asked.external_ids AS external_id
    MATCH (message:Message {client_id: $client_id, conversation_id: asked.id, external_id: external_id})
    RETURN message {.external_id, .id}
  } AS known,
  COLLECT {
    UNWIND asked.ids AS message_id
    MATCH (message:Memory {client_id: $client_id, id: message_id})
    RETURN message.id
  } AS written
ORDER BY conversation_id
