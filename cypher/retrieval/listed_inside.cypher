CYPHER 25
// The newest of the memories of some sources that hold in a session, or in a conversation; nothing else is
// read.
//
// $client_id        string    whose memories
// $session_id       string    which session, '' for a conversation
// $conversation_id  string    which conversation, '' for a session
// $timed            boolean   whether the times below decide, not what holds now
// $since            datetime  the first occurred_at that passes
// $until            datetime  the first that no longer does
// $limit            int       how many
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
