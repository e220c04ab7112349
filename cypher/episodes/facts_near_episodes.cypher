CYPHER 25
// The facts of a conversation that hold now and lie nearest to some of its episodes, the oldest first.
//
// $client_id        string        whose facts
// $conversation_id  string        which conversation
// $episode_ids      list<string>  the episodes
// $limit            int           how many for each of them
UNWIND $episode_ids AS episode_id
MATCH (episode:Memory {client_id: $client_id, id: episode_id})
CALL (episode) {
  MATCH (fact:Fact {client_id: $client_id, conversation_id: $conversation_id})
  // The index holds what has a valid_at: without this it is not used.
  WHERE fact.valid_at IS NOT NULL AND fact.active = true
  RETURN fact
  ORDER BY vector.similarity.cosine(fact.embedding, episode.embedding) DESC, fact.id
  LIMIT $limit
}
WITH DISTINCT fact
ORDER BY fact.created_at, fact.id
RETURN collect(fact {.id, .text, .category, .scope, .keywords, .importance}) AS rows
