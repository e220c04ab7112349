CYPHER 25
// Memories that name a conversation which their client does not have.
//
// $scanned  int  how many memories are looked at
// $most     int  after how many of these it ends
MATCH (memory:Memory)
WITH memory
LIMIT $scanned
WHERE memory.conversation_id <> '' AND NOT EXISTS {
  MATCH (conversation:Conversation {client_id: memory.client_id, id: memory.conversation_id})
}
WITH memory
LIMIT $most
RETURN count(*) AS found, collect(memory.id)[..3] AS examples
