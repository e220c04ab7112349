CYPHER 25
// The cosine of the nearest earlier episode of a conversation; null if there is none.
//
// $client_id        string       the client
// $conversation_id  string       the conversation
// $before           datetime     the latest end of an earlier episode
// $embedding        list<float>  the vector to compare with
MATCH (episode:Episode {client_id: $client_id, conversation_id: $conversation_id})
WHERE episode.end_at <= $before AND episode.active = true
RETURN max(2 * vector.similarity.cosine(episode.embedding, $embedding) - 1) AS cosine
