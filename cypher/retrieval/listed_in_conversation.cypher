CYPHER 25
// The newest of the memories of a conversation that pass some filters; nothing else is read.
//
// $client_id         string        whose memories
// $conversation_id   string        which conversation
// $whole_kinds       list<string>  the kinds that pass whatever their source type
// $source_types      list<string>  the source types that pass
// $source_ids        list<string>  the sources that pass, all when empty
// $conversation_ids  list<string>  the conversations that pass, all when empty
// $since             datetime      the first occurred_at that passes
// $until             datetime      the first that no longer does
// $timed             boolean       whether the times below decide, not what holds now
// $valid_by          datetime      the last valid_at that passes
// $invalid_from      datetime      the first invalid_at that passes
// $created_by        datetime      the last created_at that passes
// $superseded_from   datetime      the first superseded_at that passes
// $ending            boolean       whether what newer versions had ended by then is left out
// $limit             int           how many
MATCH (memory:Memory {client_id: $client_id, conversation_id: $conversation_id})
WHERE memory.id IS NOT NULL
  AND (memory.active = true OR $timed)
  AND (memory.kind IN $whole_kinds OR memory.source_type IN $source_types)
  AND (size($source_ids) = 0 OR memory.source_id IN $source_ids)
  AND (size($conversation_ids) = 0 OR memory.conversation_id IN $conversation_ids)
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  AND (NOT $timed OR (
    memory.valid_at <= $valid_by AND memory.invalid_at >= $invalid_from
    AND memory.created_at <= $created_by AND memory.superseded_at >= $superseded_from
  ))
  AND (NOT $ending OR NOT coalesce(
    memory.invalidated_at <= $created_by AND memory.invalidated_from <= $valid_by, false
  ))
  AND (NOT $ending OR NOT EXISTS {
    // A span ends with the version of the reference that it is part of.
    MATCH (memory)(()-[:PART_OF]->(:Reference {client_id: $client_id})){0,1}()
      (()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    WHERE newer.created_at <= $created_by AND newer.valid_at <= $valid_by
  })
WITH DISTINCT memory
ORDER BY memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  .id, .kind, .source_type, .importance, .token_count,
  occurred_at: toString(memory.occurred_at)
}) AS rows
