CYPHER 25
// The memories linked to a memory in either direction, newest first, without superseded ones.
//
// $client_id  string  the client
// $id         string  its id
// $limit      int     the maximum number
MATCH (memory:Memory {client_id: $client_id, id: $id})
MATCH (memory)-[:
  // include link_types
]-(other:Memory {client_id: $client_id})
WHERE other.active AND other.id <> $id
WITH DISTINCT other
ORDER BY other.occurred_at DESC, other.id
LIMIT $limit
RETURN collect(other {.id}) AS rows
