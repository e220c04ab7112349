CYPHER 25
// The facts of one conversation and scope that hold now and lie nearest to a vector, by the index.
//
// $client_id        string       whose facts
// $conversation_id  string       which conversation, '' for those of none
// $scope            string       which scope
// $embedding        list<float>  the vector
// $limit            int          how many
MATCH (fact:Memory)
  SEARCH fact IN (
    VECTOR INDEX memory_embedding FOR $embedding
    WHERE fact.client_id = $client_id AND fact.kind = 'fact' AND fact.active = true
      AND fact.conversation_id = $conversation_id AND fact.scope = $scope
    LIMIT $limit
  ) SCORE AS score
WITH fact, score
ORDER BY score DESC, fact.created_at, fact.id
RETURN collect(fact {
  .id, .text, .category, .keywords,
  other_categories: coalesce(fact.other_categories, []),
  cosine: 2 * score - 1
}) AS rows
