CYPHER 25
// Some memories that a caller selects by id or by conversation to be forgotten, in the order of their ids.
//
// $client_id        string        the client
// $after            string        only ids after this one
// $limit            int           the maximum number
// $ids              list<string>  the memories, by id; empty for all
// $conversation_id  string        their conversation, '' for all
CALL () {
  UNWIND $ids AS id
  MATCH (memory:Memory {client_id: $client_id, id: id})
  WHERE $conversation_id = '' OR memory.conversation_id = $conversation_id
  RETURN memory

  UNION ALL

  FILTER size($ids) = 0
  MATCH (memory:Memory {client_id: $client_id, conversation_id: $conversation_id})
  RETURN memory
}
WITH memory
WHERE memory.id > $after
  // include selected
WITH memory
ORDER BY memory.id
LIMIT $limit
RETURN collect(memory {.id}) AS rows
