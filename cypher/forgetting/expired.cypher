CYPHER 25
// Some memories of a client that have expired.
//
// $client_id  string    the client
// $now        datetime  now
// $limit      int       the maximum number
MATCH (memory:Memory)
WHERE memory.expires_at <= $now AND memory.client_id = $client_id
WITH memory
ORDER BY memory.expires_at, memory.id
LIMIT $limit
RETURN collect(memory {.id}) AS rows
