CYPHER 25
// The memories inside any filters that lie nearest in meaning, and those that share most words.
//
// $client_id             string        whose memories
// $embedding             list<float>   the question's vector
// $words                 string        the Lucene query, inside the same scope
// $limit                 int           how many of each leg
// $kind_from             string        the least kind that passes
// $kind_to               string        the greatest
// $kind_in               list<string>  those that pass, all when empty
// $conversation_id_from  string        the least conversation_id that passes
// $conversation_id_to    string        the greatest
// $conversation_id_in    list<string>  those that pass, all when empty
// $session_id_from       string        the least session_id that passes
// $session_id_to         string        the greatest
// $session_id_in         list<string>  those that pass, all when empty
// $source_type_from      string        the least source_type that passes
// $source_type_to        string        the greatest
// $source_type_in        list<string>  those that pass, all when empty
// $source_id_from        string        the least source_id that passes
// $source_id_to          string        the greatest
// $source_id_in          list<string>  those that pass, all when empty
// $category_from         string        the least category that passes
// $category_to           string        the greatest
// $category_in           list<string>  those that pass, all when empty
// $scope_from            string        the least scope that passes
// $scope_to              string        the greatest
// $scope_in              list<string>  those that pass, all when empty
// $since                 datetime      the first occurred_at that passes
// $until                 datetime      the first that no longer does
// $valid_by              datetime      the last valid_at that passes
// $invalid_from          datetime      the first invalid_at that passes
// $created_by            datetime      the last created_at that passes
// $superseded_from       datetime      the first superseded_at that passes
// $ending                boolean       whether what newer versions had ended by then is left out
// What the index cannot decide, lists and the times of the words leg, comes back as `passes`.
CALL () {
  MATCH (memory:Memory)
    SEARCH memory IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE memory.client_id = $client_id
        AND memory.kind >= $kind_from AND memory.kind <= $kind_to
        AND memory.conversation_id >= $conversation_id_from AND memory.conversation_id <= $conversation_id_to
        AND memory.session_id >= $session_id_from AND memory.session_id <= $session_id_to
        AND memory.source_type >= $source_type_from AND memory.source_type <= $source_type_to
        AND memory.source_id >= $source_id_from AND memory.source_id <= $source_id_to
        AND memory.category >= $category_from AND memory.category <= $category_to
        AND memory.scope >= $scope_from AND memory.scope <= $scope_to
        AND memory.occurred_at >= $since AND memory.occurred_at < $until
        AND memory.valid_at <= $valid_by AND memory.invalid_at >= $invalid_from
        AND memory.created_at <= $created_by AND memory.superseded_at >= $superseded_from
      LIMIT $limit
    ) SCORE AS score
  RETURN memory, score AS vector, null AS bm25

  UNION ALL

  MATCH (memory:Memory)
    SEARCH memory IN (
      FULLTEXT INDEX memory_text FOR $words
      LIMIT $limit
    ) SCORE AS score
  WHERE memory.client_id = $client_id
  RETURN memory, null AS vector, score AS bm25
}
WITH memory, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  .id, .external_id, .kind, .role, .name, .conversation_id, .session_id, .idx, .importance,
  .token_count,
  occurred_at: toString(memory.occurred_at),
  cosine: 2 * coalesce(vector, vector.similarity.cosine(memory.embedding, $embedding)) - 1,
  bm25: bm25,
  by_vector: vector IS NOT NULL,
  passes:
    memory.occurred_at >= $since AND memory.occurred_at < $until
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
}) AS rows
