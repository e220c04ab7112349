CYPHER 25
// The newest active memories of some sources in a session or a conversation; reads nothing else.
//
// $client_id        string    the client
// $session_id       string    the session, '' for the whole conversation
// $conversation_id  string    the conversation, read if no session is named
// $timed            boolean   whether the times below apply, not the current state
// $since            datetime  the first occurred_at that passes
// $until            datetime  the upper bound of occurred_at, exclusive
// $limit            int       the maximum number
CALL () {
  FILTER $session_id <> ''
  MATCH (session:Session {client_id: $client_id, id: $session_id})
    <-[:PART_OF|SUMMARIZES]-(memory:Memory)
  WHERE memory.client_id = $client_id
  RETURN memory

  UNION

  FILTER $session_id = ''
  MATCH (memory:Memory {client_id: $client_id, conversation_id: $conversation_id})
  RETURN memory
}
WITH memory
WHERE (memory.active = true OR $timed)
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  // include of_sources
  // include held_then
WITH memory
ORDER BY memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  // include listed
}) AS rows
