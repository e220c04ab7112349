CYPHER 25
// Locks the conversation of the session that a summary is about; no row when it is about no session.
//
// $client_id   string  whose session
// $session_id  string  what the summary is about
MATCH (session:Session {client_id: $client_id, id: $session_id})
MATCH (conversation:Conversation {client_id: $client_id, id: session.conversation_id})
SET conversation.locked = true
WITH session, conversation
// Deleted while this waited for the lock, it has no properties any more.
WHERE conversation.next_position IS NOT NULL
RETURN session.id AS session_id, conversation.id AS conversation_id
