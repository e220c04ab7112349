CYPHER 25
// Some memories of a client that a caller selects to be forgotten, in the order of their ids.
//
// $client_id  string  the client
// $after      string  only ids after this one
// $limit      int     the maximum number
MATCH (memory:Memory {client_id: $client_id})
WHERE memory.id > $after
  // include selected
WITH memory
// As in the index.
ORDER BY memory.client_id, memory.id
LIMIT $limit
RETURN collect(memory {.id}) AS rows
