CYPHER 25
// Locks the conversation of the session that a summary describes; no row if it describes no session.
//
// $client_id   string  the client
// $session_id  string  the id of the summarized object
MATCH (session:Session {client_id: $client_id, id: $session_id})
MATCH (conversation:Conversation {client_id: $client_id, id: session.conversation_id})
SET conversation.locked = true
WITH session, conversation
// A node that was deleted while this waited for the lock has no properties.
WHERE conversation.next_position IS NOT NULL
RETURN session.id AS session_id, conversation.id AS conversation_id
