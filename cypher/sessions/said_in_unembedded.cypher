CYPHER 25
// Sessions whose vector as a whole is not stored, newest first, and the beginnings of their longest messages.
//
// $client_id        string    the client
// $conversation_id  string    the conversation, '' for all
// $since            datetime  sessions that began then or later
// $until            datetime  and before then
// $newest           int       the number of newest sessions to search
// $limit            int       the maximum number of these
// $model            string    the embedding model, with its hash
MATCH (session:Session {client_id: $client_id})
WHERE session.id IS NOT NULL // else no index is used
  AND session.started_at >= $since AND session.started_at < $until
  AND ($conversation_id = '' OR session.conversation_id = $conversation_id)
WITH session
ORDER BY session.started_at DESC, session.id
LIMIT $newest
WITH session
WHERE coalesce(session.whole_model <> $model, true)
WITH session
LIMIT $limit
// include said_in_session
