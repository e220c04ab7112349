CYPHER 25
// The beginnings of some of a client's memories. Ids are random, so their order is a fair sample.
//
// $client_id  string  whose memories
// $limit      int     how many
MATCH (memory:Memory {client_id: $client_id})
WHERE memory.active = true
WITH memory
ORDER BY memory.id
LIMIT $limit
RETURN collect({text: left(memory.search_text, 600)}) AS rows
