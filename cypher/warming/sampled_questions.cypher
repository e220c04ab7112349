CYPHER 25
// The beginnings of some memories of any client: of the next one by id, and of those after it if it has few.
//
// $after  string  the id of a client; the memories are of later ones
// $limit  int     how many at most
MATCH (memory:Memory)
WHERE memory.client_id > $after AND memory.id IS NOT NULL // the id: else no index is used
WITH memory
ORDER BY memory.client_id, memory.id
LIMIT $limit
RETURN collect({client_id: memory.client_id, text: left(coalesce(memory.search_text, ''), 60)}) AS rows
