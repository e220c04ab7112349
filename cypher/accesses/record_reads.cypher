CYPHER 25
// Records reads, each once, with the memories that they returned; a read of a deleted conversation is not
// recorded, and one of a memory that was deleted meanwhile without its question, which goes with the memory.
//
// $client_id  string     the client
// $rows       list<map>  {id, conversation_id, properties, shown: [{id, rank, score, tokens?}]}, by conversation
UNWIND $rows AS row
OPTIONAL MATCH (conversation:Conversation {client_id: $client_id, id: row.conversation_id})
// Locks against a deletion, which deletes the records written before it.
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
SET access.question = CASE WHEN memories < size(row.shown) THEN '' ELSE access.question END
RETURN count(*) AS written
