CYPHER 25
// Deletes some of a conversation's memories.
//
// $client_id  string  whose conversation
// $id         string  its id
// $limit      int     how many at once
MATCH (memory:Memory {client_id: $client_id, conversation_id: $id})
WITH memory
LIMIT $limit
DETACH DELETE memory
RETURN count(*) AS memories
