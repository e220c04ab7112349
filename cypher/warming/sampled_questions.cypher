CYPHER 25
// The beginnings of some memories of any client, drawn at random, to ask for.
//
// $limit  int  about how many
MATCH (memory:Memory)
WITH count(*) AS memories
MATCH (memory:Memory)
WHERE memory.active = true AND rand() * memories < $limit
WITH memory
LIMIT $limit
RETURN collect({client_id: memory.client_id, text: left(memory.search_text, 60)}) AS rows
