CYPHER 25
// The episodes of a conversation without facts, oldest first, with their messages.
//
// $client_id  string  the client
// $id         string  its id
// $limit      int     the maximum number
MATCH (episode:Episode {client_id: $client_id, conversation_id: $id})
WHERE episode.end_at IS NOT NULL AND episode.consolidated_at IS NULL AND episode.active = true
WITH episode
// As in the index.
ORDER BY episode.client_id, episode.conversation_id, episode.end_at, episode.id
LIMIT $limit
CALL (episode) {
  MATCH (message:Message {client_id: $client_id})-[:PART_OF]->(episode)
  WITH message
  ORDER BY message.position
  RETURN collect(message {
    .id, .session_id, .role, .name, .text, occurred_at: toString(message.occurred_at)
  }) AS messages
}
RETURN collect(episode {
  .id, .title, .text, end_at: toString(episode.end_at), messages: messages
}) AS rows
