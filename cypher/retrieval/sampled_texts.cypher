CYPHER 25
// The beginnings of some of a client's memories, and whether it has passages. The ids are random, so their order
// gives a fair sample.
//
// $client_id  string  the client
// $limit      int     the maximum number
MATCH (memory:Memory {client_id: $client_id})
WHERE memory.id IS NOT NULL AND memory.active = true // the id: else no index is used
WITH memory
ORDER BY memory.client_id, memory.id
LIMIT $limit
WITH collect(left(coalesce(memory.search_text, memory.text, ''), 600)) AS texts
RETURN texts,
  // include has_passages
  AS has_passages
