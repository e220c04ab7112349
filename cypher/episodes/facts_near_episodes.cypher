CYPHER 25
// The active facts of a conversation that are nearest to some of its episodes, oldest first.
//
// $client_id        string        the client
// $conversation_id  string        the conversation
// $episode_ids      list<string>  the episodes
// $limit            int           the maximum number for each episode
UNWIND $episode_ids AS episode_id
MATCH (episode:Memory {client_id: $client_id, id: episode_id})
CALL (episode) {
  MATCH (fact:Fact {client_id: $client_id, conversation_id: $conversation_id})
  // The index only holds nodes with a valid_at: without this line it is not used.
  WHERE fact.valid_at IS NOT NULL AND fact.active = true
  RETURN fact
  ORDER BY vector.similarity.cosine(fact.embedding, episode.embedding) DESC, fact.id
  LIMIT $limit
}
WITH DISTINCT fact
ORDER BY fact.created_at, fact.id
RETURN collect(fact {
  .id, .text, .category, .scope, .importance,
  keywords: coalesce(fact.keywords, []),
  valid_at: toString(fact.valid_at),
  created_at: toString(fact.created_at)
}) AS rows
