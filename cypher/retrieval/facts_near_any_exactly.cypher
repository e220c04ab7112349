CYPHER 25
// The facts that lie nearest to any of some vectors by exact cosine, and those that share most words: for
// where the vector index falls short.
//
// $client_id           string        whose facts
// $asked               list<map>     {place, vector}: the vectors
// $conversation_id_in  list<string>  the conversations that pass, all when empty
// $scope_in            list<string>  the scopes that pass, all when empty
// $everything          string        the Lucene query for everything in scope
// $most                int           how many are compared
// $words               string        the Lucene query for the words, inside the same scope
// $limit               int           how many are wanted, and how many by their words
// $valid_by            datetime      the last valid_at that passes
// $invalid_from        datetime      the first invalid_at that passes
// $created_by          datetime      the last created_at that passes
// $superseded_from     datetime      the first superseded_at that passes
// $ending              boolean       whether what newer versions had ended by then is left out
CALL () {
  MATCH (fact:Memory)
    SEARCH fact IN (
      FULLTEXT INDEX memory_text FOR $everything
      LIMIT $most
    )
  RETURN fact, null AS bm25

  UNION ALL

  MATCH (fact:Memory)
    SEARCH fact IN (
      FULLTEXT INDEX memory_text FOR $words
      LIMIT $limit
    ) SCORE AS bm25
  RETURN fact, bm25
}
WITH fact, max(bm25) AS bm25
WHERE fact.client_id = $client_id AND fact.kind = 'fact'
  AND (size($conversation_id_in) = 0 OR fact.conversation_id IN $conversation_id_in)
  AND (size($scope_in) = 0 OR fact.scope IN $scope_in)
  AND fact.valid_at <= $valid_by AND fact.invalid_at >= $invalid_from
  AND fact.created_at <= $created_by AND fact.superseded_at >= $superseded_from
  AND (NOT $ending OR NOT coalesce(
    fact.invalidated_at <= $created_by AND fact.invalidated_from <= $valid_by, false
  ))
  AND (NOT $ending OR NOT EXISTS {
    MATCH (fact)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    WHERE newer.created_at <= $created_by AND newer.valid_at <= $valid_by
  })
WITH fact, bm25, reduce(
  nearest = 0.0,
  score IN [one IN $asked | vector.similarity.cosine(fact.embedding, one.vector)] |
    CASE WHEN score > nearest THEN score ELSE nearest END
) AS score
ORDER BY score DESC, fact.occurred_at DESC, fact.id
WITH collect({fact: fact, bm25: bm25, score: score}) AS found
UNWIND found[0..$limit] + [one IN found[$limit..] WHERE one.bm25 IS NOT NULL] AS one
WITH one.fact AS fact, one.bm25 AS bm25, one.score AS score
RETURN collect(fact {
  .id,
  occurred_at: toString(fact.occurred_at),
  places: [],
  cosine: 2 * score - 1,
  bm25: bm25,
  passes: true
}) AS rows
