CYPHER 25
// The newest of the memories that pass some filters; of each kind the index is read from its end.
//
// $client_id         string        whose memories
// $kinds             list<string>  among which kinds
// $whole_kinds       list<string>  the kinds that pass whatever their source type
// $source_types      list<string>  the source types that pass
// $source_ids        list<string>  the sources that pass, all when empty
// $conversation_ids  list<string>  the conversations that pass, all when empty
// $since             datetime      the first occurred_at that passes
// $until             datetime      the first that no longer does
// $limit             int           how many
UNWIND $kinds AS kind
CALL (kind) {
  MATCH (memory:Memory)
  WHERE memory.client_id = $client_id AND memory.active = true AND memory.kind = kind
    AND memory.occurred_at >= $since AND memory.occurred_at < $until
    AND memory.source_type IS NOT NULL AND memory.source_id IS NOT NULL
    AND memory.conversation_id IS NOT NULL AND memory.importance IS NOT NULL
    AND memory.id IS NOT NULL // all of them: else no index is used
    AND (kind IN $whole_kinds OR memory.source_type IN $source_types)
    AND (size($source_ids) = 0 OR memory.source_id IN $source_ids)
    AND (size($conversation_ids) = 0 OR memory.conversation_id IN $conversation_ids)
  RETURN memory
  ORDER BY
    memory.client_id DESC, memory.active DESC, memory.kind DESC, memory.occurred_at DESC, memory.id
  LIMIT $limit
}
WITH memory
ORDER BY memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  .id, .kind, .source_type, .importance, .token_count,
  occurred_at: toString(memory.occurred_at)
}) AS rows
