CYPHER 25
// Locks the writers of some memories: the client, their conversations, and the memories themselves, in the
// order of all writers; returns the reason for which they may not be deleted.
//
// $client_id  string        the client
// $ids        list<string>  the memories
MERGE (client:Client {client_id: $client_id})
SET client.locked = true
WITH client
CALL () {
  UNWIND $ids AS id
  MATCH (memory:Memory {client_id: $client_id, id: id})
  WITH DISTINCT memory.conversation_id AS conversation_id
  ORDER BY conversation_id
  MATCH (conversation:Conversation {client_id: $client_id, id: conversation_id})
  SET conversation.locked = true
}
CALL () {
  UNWIND $ids AS id
  MATCH (memory:Memory {client_id: $client_id, id: id})
  WITH memory
  ORDER BY memory.id
  SET memory.locked = true
}
RETURN client.legal_hold AS legal_hold
