CYPHER 25
// Memories that name a conversation that their client does not have.
//
// $scanned  int  the number of memories examined
// $most     int  the number of defects after which the search ends
MATCH (memory:Memory)
WITH memory
LIMIT $scanned
WHERE memory.conversation_id <> '' AND NOT EXISTS {
  MATCH (conversation:Conversation {client_id: memory.client_id, id: memory.conversation_id})
}
WITH memory
LIMIT $most
RETURN count(*) AS found, collect(memory.id)[..3] AS examples
