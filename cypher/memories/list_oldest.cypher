CYPHER 25
// Memories, the earliest first; reads the index of each kind from its beginning.
//
// $client_id  string         the client
// $kinds      list<string>   the kinds that are listed
// $actives    list<boolean>  the values of `active` that are listed
// $since      datetime       the first occurred_at that passes
// $until      datetime       the upper bound of occurred_at, exclusive
// $place      datetime       occurred_at of the last row of the page before
// $place_id   string         its id
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
    // With OR the index may be read twice, and whole.
    AND CASE WHEN memory.occurred_at = $place THEN memory.id > $place_id ELSE true END
    // include list_conditions
  RETURN memory
  // As in the index.
  ORDER BY memory.client_id, memory.active, memory.kind, memory.occurred_at, memory.id
  LIMIT $limit
}
WITH memory
ORDER BY memory.occurred_at, memory.id
LIMIT $limit
// include first_texts
RETURN collect({
  metadata: memory.metadata,
  memory: memory {
    // include memory_map
  }
}) AS rows
