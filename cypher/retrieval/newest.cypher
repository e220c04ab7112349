CYPHER 25
// The newest active memories of some sources; reads the index of each kind from its end.
//
// $client_id  string         the client
// $kinds      list<string>   the kinds that are searched
// $actives    list<boolean>  the values of `active` that are searched
// $since      datetime       the first occurred_at that passes
// $until      datetime       the upper bound of occurred_at, exclusive
// $timed      boolean        whether the times below apply, not the current state
// $limit      int            the maximum number
UNWIND $kinds AS kind
UNWIND $actives AS active
CALL (kind, active) {
  MATCH (memory:Memory)
  USING INDEX memory:Memory(
    client_id, active, kind, occurred_at, source_type, source_id, conversation_id, importance, id
  )
  WHERE memory.client_id = $client_id AND memory.active = active AND memory.kind = kind
    AND memory.occurred_at >= $since AND memory.occurred_at < $until
    AND memory.source_type IS NOT NULL AND memory.source_id IS NOT NULL
    AND memory.conversation_id IS NOT NULL AND memory.importance IS NOT NULL
    AND memory.id IS NOT NULL // all properties: else the index is not used
    // include of_sources
    AND (NOT $timed OR (true
      // include held_then
    ))
  RETURN memory
  // As in the index.
  ORDER BY
    memory.client_id DESC, memory.active DESC, memory.kind DESC, memory.occurred_at DESC, memory.id
  LIMIT $limit
}
WITH memory
ORDER BY memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  // include listed
}) AS rows
