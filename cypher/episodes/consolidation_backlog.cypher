CYPHER 25
// Counts the episodes of a conversation without facts, and returns the greatest surprise among them.
//
// $client_id  string  the client
// $id         string  its id
MATCH (episode:Episode {client_id: $client_id, conversation_id: $id})
WHERE episode.end_at IS NOT NULL AND episode.consolidated_at IS NULL AND episode.active = true
RETURN count(*) AS episodes, coalesce(max(episode.surprise), 0.0) AS surprise
