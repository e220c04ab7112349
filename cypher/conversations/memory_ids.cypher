CYPHER 25
// The ids of some memories of a conversation.
//
// $client_id  string  the client
// $id         string  its id
// $limit      int     their maximum number
MATCH (memory:Memory {client_id: $client_id, conversation_id: $id})
WITH memory
LIMIT $limit
RETURN collect({id: memory.id}) AS rows
