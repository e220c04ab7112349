CYPHER 25
// The beginnings of some of a client's memories, each with whether the client has passages. The ids are random,
// so their order gives a fair sample.
//
// $client_id  string  the client
// $limit      int     the maximum number
LET has_passages =
  // include has_passages
MATCH (memory:Memory {client_id: $client_id})
WHERE memory.id IS NOT NULL AND memory.active = true // the id: else no index is used
WITH memory, has_passages
ORDER BY memory.client_id, memory.id
LIMIT $limit
RETURN collect({
  text: left(coalesce(memory.search_text, memory.text, ''), 600),
  has_passages: has_passages
}) AS rows
