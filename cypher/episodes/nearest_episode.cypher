CYPHER 25
// How near the nearest of a conversation's episodes lies that came before; null where none did.
//
// $client_id        string       whose episodes
// $conversation_id  string       which conversation
// $before           datetime     ended by when
// $embedding        list<float>  near to what
MATCH (episode:Episode {client_id: $client_id, conversation_id: $conversation_id})
WHERE episode.end_at <= $before AND episode.active = true
RETURN max(2 * vector.similarity.cosine(episode.embedding, $embedding) - 1) AS cosine
