CYPHER 25
// What is linked to a memory, in either direction, the newest first; what was superseded is not shown.
//
// $client_id  string  whose memory
// $id         string  its id
// $limit      int     how many at most
MATCH (memory:Memory {client_id: $client_id, id: $id})
MATCH (memory)-[:
  // include link_types
]-(other:Memory {client_id: $client_id})
WHERE other.active AND other.id <> $id
WITH DISTINCT other
ORDER BY other.occurred_at DESC, other.id
LIMIT $limit
RETURN collect(other {.id}) AS rows
