CYPHER 25
// The own id of a session of a conversation, by the caller's name for it.
//
// $client_id        string  the client
// $conversation_id  string  the conversation
// $name             string  the caller's name of the session
MATCH (session:Session {client_id: $client_id, conversation_id: $conversation_id, external_id: $name})
RETURN session.id AS id
