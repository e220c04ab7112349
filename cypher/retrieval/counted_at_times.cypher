CYPHER 25
// How many memories pass some filters and hold at some times.
//
// $client_id         string        whose memories
// $kinds             list<string>  among which kinds
// $whole_kinds       list<string>  the kinds that pass whatever their source type
// $source_types      list<string>  the source types that pass
// $source_ids        list<string>  the sources that pass, all when empty
// $conversation_ids  list<string>  the conversations that pass, all when empty
// $since             datetime      the first occurred_at that passes
// $until             datetime      the first that no longer does
// $valid_by          datetime      the last valid_at that passes
// $invalid_from      datetime      the first invalid_at that passes
// $created_by        datetime      the last created_at that passes
// $superseded_from   datetime      the first superseded_at that passes
// $ending            boolean       whether what newer versions had ended by then is left out
UNWIND $kinds AS kind
UNWIND [true, false] AS active
MATCH (memory:Memory)
WHERE memory.client_id = $client_id AND memory.active = active AND memory.kind = kind
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  AND memory.source_type IS NOT NULL AND memory.source_id IS NOT NULL
  AND memory.conversation_id IS NOT NULL AND memory.importance IS NOT NULL
  AND memory.id IS NOT NULL // all of them: else no index is used
  AND (kind IN $whole_kinds OR memory.source_type IN $source_types)
  AND (size($source_ids) = 0 OR memory.source_id IN $source_ids)
  AND (size($conversation_ids) = 0 OR memory.conversation_id IN $conversation_ids)
  AND memory.valid_at <= $valid_by AND memory.invalid_at >= $invalid_from
  AND memory.created_at <= $created_by AND memory.superseded_at >= $superseded_from
  AND (NOT $ending OR NOT coalesce(
    memory.invalidated_at <= $created_by AND memory.invalidated_from <= $valid_by, false
  ))
  AND (NOT $ending OR NOT EXISTS {
    // A span ends with the version of the reference that it is part of.
    MATCH (memory)(()-[:PART_OF]->(:Reference {client_id: $client_id})){0,1}()
      (()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    WHERE newer.created_at <= $created_by AND newer.valid_at <= $valid_by
  })
RETURN count(*) AS memories
