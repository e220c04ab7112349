CYPHER 25
// Records reads, each once, with what they showed; a read of a conversation that is gone leaves nothing.
//
// $client_id  string     whose reads
// $rows       list<map>  {id, conversation_id, properties, shown: [{id, rank, score, tokens?}]}, by conversation
UNWIND $rows AS row
OPTIONAL MATCH (conversation:Conversation {client_id: $client_id, id: row.conversation_id})
// Locked against a deletion, which takes what was recorded before it.
SET conversation.locked = true
WITH row, conversation
WHERE row.conversation_id = '' OR conversation.next_position IS NOT NULL
MERGE (access:Access {client_id: $client_id, id: row.id})
SET access += row.properties
WITH row, access
CALL (row, access) {
  UNWIND row.shown AS one
  MATCH (memory:Memory {client_id: $client_id, id: one.id})
  MERGE (access)-[returned:RETURNED]->(memory)
  SET returned.rank = one.rank, returned.score = one.score, returned.tokens = one.tokens
  RETURN count(*) AS memories
}
RETURN count(*) AS written
