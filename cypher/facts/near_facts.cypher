CYPHER 25
// The active facts of one conversation and scope nearest to a vector, by the index.
//
// $client_id        string       the client
// $conversation_id  string       the conversation, '' for none
// $scope            string       the scope
// $embedding        list<float>  the vector
// $limit            int          the maximum number
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
  .id, .text, .category,
  keywords: coalesce(fact.keywords, []),
  other_categories: coalesce(fact.other_categories, []),
  cosine: 2 * score - 1
}) AS rows
