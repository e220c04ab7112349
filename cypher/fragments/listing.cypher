// Every memory of some kinds in a period, by the index of lists.
//
// $client_id  string         whose memories
// $kinds      list<string>   among which kinds
// $actives    list<boolean>  whether what holds now is looked through, and what does not
// $since      datetime       the first occurred_at that passes
// $until      datetime       the first that no longer does
UNWIND $kinds AS kind
UNWIND $actives AS active
MATCH (memory:Memory)
USING INDEX memory:Memory(
  client_id, active, kind, occurred_at, source_type, source_id, conversation_id, importance, id
)
WHERE memory.client_id = $client_id AND memory.active = active AND memory.kind = kind
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  AND memory.source_type IS NOT NULL AND memory.source_id IS NOT NULL
  AND memory.conversation_id IS NOT NULL AND memory.importance IS NOT NULL
  AND memory.id IS NOT NULL // all of them: else the index is not used
