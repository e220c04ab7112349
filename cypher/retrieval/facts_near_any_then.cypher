CYPHER 25
// The facts that held at some times and lie nearest to any of some vectors, and those that share most words.
//
// $client_id          string        whose facts
// $asked              list<map>     {place, vector}: the vectors
// $conversation_from  string        the least conversation_id that passes
// $conversation_to    string        the greatest
// $scope_from         string        the least scope that passes
// $scope_to           string        the greatest
// $scope_in           list<string>  those that pass, all when empty
// $words              string        the Lucene query, inside the same scope
// $limit              int           how many of each vector, and of the words
// $valid_by           datetime      the last valid_at that passes
// $invalid_from       datetime      the first invalid_at that passes
// $created_by         datetime      the last created_at that passes
// $superseded_from    datetime      the first superseded_at that passes
// $ending             boolean       whether what newer versions had ended by then is left out
// `places` are the vectors that found a fact; its cosine is that to the nearest of them.
CALL () {
  UNWIND $asked AS one
  CALL (one) {
    MATCH (fact:Memory)
      SEARCH fact IN (
        VECTOR INDEX memory_embedding FOR one.vector
        WHERE fact.client_id = $client_id AND fact.kind = 'fact'
          AND fact.conversation_id >= $conversation_from AND fact.conversation_id <= $conversation_to
          AND fact.scope >= $scope_from AND fact.scope <= $scope_to
          AND fact.valid_at <= $valid_by AND fact.invalid_at >= $invalid_from
          AND fact.created_at <= $created_by AND fact.superseded_at >= $superseded_from
        LIMIT $limit
      ) SCORE AS score
    RETURN fact, score
  }
  RETURN fact, one.place AS place, score AS vector, null AS bm25

  UNION ALL

  MATCH (fact:Memory)
    SEARCH fact IN (
      FULLTEXT INDEX memory_text FOR $words
      LIMIT $limit
    ) SCORE AS score
  WHERE fact.client_id = $client_id AND fact.kind = 'fact'
  RETURN fact, null AS place, null AS vector, score AS bm25
}
WITH fact, collect(place) AS places, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(fact {
  .id,
  occurred_at: toString(fact.occurred_at),
  places: places,
  cosine: 2 * coalesce(vector, reduce(
    nearest = 0.0,
    score IN [one IN $asked | vector.similarity.cosine(fact.embedding, one.vector)] |
      CASE WHEN score > nearest THEN score ELSE nearest END
  )) - 1,
  bm25: bm25,
  passes:
    (size($scope_in) = 0 OR fact.scope IN $scope_in)
    AND fact.valid_at <= $valid_by AND fact.invalid_at >= $invalid_from
    AND fact.created_at <= $created_by AND fact.superseded_at >= $superseded_from
    AND (NOT $ending OR NOT coalesce(
      fact.invalidated_at <= $created_by AND fact.invalidated_from <= $valid_by, false
    ))
    AND (NOT $ending OR NOT EXISTS {
      MATCH (fact)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
      WHERE newer.created_at <= $created_by AND newer.valid_at <= $valid_by
    })
}) AS rows
