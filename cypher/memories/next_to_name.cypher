CYPHER 25
// The next memories of a client whose names are still to be found, with the texts that hold them.
//
// $client_id  string  the client
// $limit      int     the maximum number
MATCH (memory:Memory {names_due: true, client_id: $client_id})
WHERE memory.id IS NOT NULL // names every property: else the index is not used
WITH memory
// As in the index.
ORDER BY memory.names_due, memory.client_id, memory.id
LIMIT $limit
RETURN collect(memory {.id, text: coalesce(memory.search_text, memory.text, '')}) AS rows
