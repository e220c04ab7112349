CYPHER 25
// The facts of one conversation and scope that hold now and lie nearest to a vector, by exact cosine: for
// where the index may fall short because hardly more exist than are asked for.
//
// $client_id        string       whose facts
// $conversation_id  string       which conversation, '' for those of none
// $scope            string       which scope
// $embedding        list<float>  the vector
// $limit            int          how many
MATCH (fact:Fact {client_id: $client_id, conversation_id: $conversation_id})
// The index holds what has a valid_at: without this it is not used.
WHERE fact.valid_at IS NOT NULL AND fact.active = true AND fact.scope = $scope
WITH fact, vector.similarity.cosine(fact.embedding, $embedding) AS score
ORDER BY score DESC, fact.created_at, fact.id
LIMIT $limit
RETURN collect(fact {
  .id, .text, .category, .keywords,
  other_categories: coalesce(fact.other_categories, []),
  cosine: 2 * score - 1
}) AS rows
