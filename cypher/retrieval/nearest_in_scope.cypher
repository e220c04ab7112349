CYPHER 25
// The memories inside any filters that lie nearest in meaning, by exact cosine.
//
// $client_id           string        whose memories
// $embedding           list<float>   the question's vector
// $scope               string        the Lucene query for everything in scope
// $most                int           how many are compared
// $limit               int           how many are wanted
// $kind_in             list<string>  the values of kind that pass, all when empty
// $conversation_id_in  list<string>  the values of conversation_id that pass, all when empty
// $session_id_in       list<string>  the values of session_id that pass, all when empty
// $source_type_in      list<string>  the values of source_type that pass, all when empty
// $source_id_in        list<string>  the values of source_id that pass, all when empty
// $category_in         list<string>  the values of category that pass, all when empty
// $scope_in            list<string>  the values of scope that pass, all when empty
// $since               datetime      the first occurred_at that passes
// $until               datetime      the first that no longer does
// $valid_by            datetime      the last valid_at that passes
// $invalid_from        datetime      the first invalid_at that passes
// $created_by          datetime      the last created_at that passes
// $superseded_from     datetime      the first superseded_at that passes
// $ending              boolean       whether what newer versions had ended by then is left out
MATCH (memory:Memory)
  SEARCH memory IN (
    FULLTEXT INDEX memory_text FOR $scope
    LIMIT $most
  )
WHERE memory.client_id = $client_id
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  AND memory.valid_at <= $valid_by AND memory.invalid_at >= $invalid_from
  AND memory.created_at <= $created_by AND memory.superseded_at >= $superseded_from
  AND (size($kind_in) = 0 OR memory.kind IN $kind_in)
  AND (size($conversation_id_in) = 0 OR memory.conversation_id IN $conversation_id_in)
  AND (size($session_id_in) = 0 OR memory.session_id IN $session_id_in)
  AND (size($source_type_in) = 0 OR memory.source_type IN $source_type_in)
  AND (size($source_id_in) = 0 OR memory.source_id IN $source_id_in)
  AND (size($category_in) = 0 OR memory.category IN $category_in)
  AND (size($scope_in) = 0 OR memory.scope IN $scope_in)
  AND (NOT $ending OR NOT coalesce(
    memory.invalidated_at <= $created_by AND memory.invalidated_from <= $valid_by, false
  ))
  AND (NOT $ending OR NOT EXISTS {
    // A span ends with the version of the reference that it is part of.
    MATCH (memory)(()-[:PART_OF]->(:Reference {client_id: $client_id})){0,1}()
      (()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    WHERE newer.created_at <= $created_by AND newer.valid_at <= $valid_by
  })
WITH memory, vector.similarity.cosine(memory.embedding, $embedding) AS score
ORDER BY score DESC, memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  .id, .external_id, .kind, .role, .name, .conversation_id, .session_id, .idx, .importance,
  .token_count,
  occurred_at: toString(memory.occurred_at),
  cosine: 2 * score - 1,
  bm25: null,
  by_vector: true,
  passes: true
}) AS rows
