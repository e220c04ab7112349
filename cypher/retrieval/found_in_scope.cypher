CYPHER 25
// The memories that pass any filters and are nearest to the question, and those that share the most words
// with it.
//
// $client_id             string   the client
// $kind_from             string   the least kind that passes
// $kind_to               string   the greatest
// $conversation_id_from  string   the least conversation_id that passes
// $conversation_id_to    string   the greatest
// $session_id_from       string   the least session_id that passes
// $session_id_to         string   the greatest
// $source_type_from      string   the least source_type that passes
// $source_type_to        string   the greatest
// $source_id_from        string   the least source_id that passes
// $source_id_to          string   the greatest
// $category_from         string   the least category that passes
// $category_to           string   the greatest
// $scope_from            string   the least scope that passes
// $scope_to              string   the greatest
// $now_only              boolean  whether no time is requested
// Filters that the indexes cannot decide, lists and the times of the word hits, are returned as `passes`.
CALL () {
  // include words_branch
  MATCH (memory:Memory) SEARCH memory IN (
    VECTOR INDEX memory_embedding FOR one.vector
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
  RETURN memory, one.place AS place, score AS vector, null AS bm25
}
WITH memory, collect(place) AS places, max(vector) AS vector, max(bm25) AS bm25
// include near_enough
WITH collect(memory {
  // include candidate
  // include scores
  passes: memory.client_id = $client_id
    // include values_in
    // A memory that was superseded during the search passes: its head replaces it in the answer.
    AND ($now_only AND memory.invalidated_at IS NULL OR (true
      // include held_then
    ))
}) AS rows
RETURN rows,
  // include has_passages
  AS has_passages
