CYPHER 25
// The active facts of one conversation and scope nearest to a vector, by exact cosine: for scopes so small
// that the index may return too few.
//
// $client_id        string       the client
// $conversation_id  string       the conversation, '' for none
// $scope            string       the scope
// $embedding        list<float>  the vector
// $limit            int          the maximum number
MATCH (fact:Fact {client_id: $client_id, conversation_id: $conversation_id})
// The index only holds nodes with a valid_at: without this line it is not used.
WHERE fact.valid_at IS NOT NULL AND fact.active = true AND fact.scope = $scope
WITH fact, vector.similarity.cosine(fact.embedding, $embedding) AS score
ORDER BY score DESC, fact.created_at, fact.id
LIMIT $limit
RETURN collect(fact {
  .id, .text, .category,
  keywords: coalesce(fact.keywords, []),
  other_categories: coalesce(fact.other_categories, []),
  cosine: 2 * score - 1
}) AS rows
