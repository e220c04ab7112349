// All memories of some kinds in a period, by the index for listing.
//
// $client_id  string         the client
// $kinds      list<string>   the kinds that are searched
// $actives    list<boolean>  the values of `active` that are searched
// $since      datetime       the first occurred_at that passes
// $until      datetime       the upper bound of occurred_at, exclusive
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
  AND memory.id IS NOT NULL // names every property: else the index is not used
