CYPHER 25
// Locks the conversation that a memory belongs to, where it belongs to one.
//
// $client_id  string  whose memory
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
OPTIONAL MATCH (conversation:Conversation {client_id: $client_id, id: memory.conversation_id})
SET conversation.locked = true
RETURN count(*) AS written
