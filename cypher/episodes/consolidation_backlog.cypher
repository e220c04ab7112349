CYPHER 25
// How many episodes of a conversation no facts were made of, and how surprising the most surprising is.
//
// $client_id  string  whose conversation
// $id         string  its id
MATCH (episode:Episode {client_id: $client_id, conversation_id: $id})
WHERE episode.end_at IS NOT NULL AND episode.consolidated_at IS NULL AND episode.active = true
RETURN count(*) AS episodes, coalesce(max(episode.surprise), 0.0) AS surprise
