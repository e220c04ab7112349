CYPHER 25
// A session's messages after a place, in their order.
//
// $client_id   string    the client
// $session_id  string    the session
// $since       datetime  the first occurred_at that passes
// $until       datetime  the upper bound of occurred_at, exclusive
// $place       int       the idx of the last message of the page before
// $limit       int       the maximum number
MATCH (memory:Message {client_id: $client_id, session_id: $session_id})
WHERE memory.idx > $place
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  // include tagged
WITH memory
// As in the index.
ORDER BY memory.client_id, memory.session_id, memory.idx
LIMIT $limit
// include first_texts
RETURN collect({
  metadata: memory.metadata,
  memory: memory {
    // include memory_map
  }
}) AS rows
