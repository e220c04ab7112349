CYPHER 25
// Deletes a session that has no messages any more.
//
// $client_id        string  the client
// $id               string  its id
// $conversation_id  string  its conversation; null for any
MATCH (session:Session {client_id: $client_id, id: $id})
WHERE $conversation_id IS NULL OR session.conversation_id = $conversation_id
OPTIONAL MATCH (conversation:Conversation {client_id: $client_id, id: session.conversation_id})
// Whoever writes to the session holds this lock.
SET conversation.locked = true
WITH session
WHERE NOT EXISTS { (session)<-[:PART_OF]-(:Message {client_id: $client_id}) }
DETACH DELETE session
RETURN count(*) AS written
