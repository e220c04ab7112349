CYPHER 25
// The active facts of one conversation and scope that share the most words with a new fact.
//
// $conversation_id  string       the conversation, '' for none
// $scope            string       the scope
// $embedding        list<float>  the vector of the new fact
// include words_leg
  AND memory.kind = 'fact' AND memory.active = true
  AND memory.conversation_id = $conversation_id AND memory.scope = $scope
WITH memory, 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 AS cosine, score
ORDER BY score DESC, memory.created_at, memory.id
RETURN collect(memory {
  .id, .text, .category,
  keywords: coalesce(memory.keywords, []),
  other_categories: coalesce(memory.other_categories, []),
  cosine: cosine
}) AS rows
