CYPHER 25
// The messages of a session from an idx on, each with its cosines to the messages that follow.
//
// $client_id   string  the client
// $session_id  string  the session
// $from_idx    int     the first idx
// $band        int     the number of following messages to compare with
// $limit       int     the maximum number
MATCH (message:Message {client_id: $client_id, session_id: $session_id})
WHERE message.idx >= $from_idx
WITH message
// As in the index.
ORDER BY message.client_id, message.session_id, message.idx
LIMIT $limit
WITH collect(message) AS messages
UNWIND range(0, size(messages) - 1) AS place
WITH
  messages[place] AS message,
  messages[place + 1 .. place + 1 + $band] AS following
WITH
  message,
  [after IN following | 2 * vector.similarity.cosine(message.embedding, after.embedding) - 1]
    AS near,
  coalesce(message.episode_deleted, false)
    OR EXISTS { (message)-[:PART_OF]->(:Episode {client_id: $client_id}) } AS taken
RETURN collect(message {
  .id, .idx, .token_count, occurred_at: toString(message.occurred_at), taken: taken, near: near,
  consolidated_at: toString(message.episode_consolidated_at)
}) AS rows
