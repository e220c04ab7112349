CYPHER 25
// Sessions without a summary, newest first, and the beginnings of their longest messages in order.
//
// $client_id        string    the client
// $conversation_id  string    the conversation, '' for all
// $since            datetime  sessions that began then or later
// $until            datetime  and before then
// $newest           int       the number of newest sessions to search
// $limit            int       the maximum number of these
// $characters       int       the total length of the beginnings of a session
MATCH (session:Session {client_id: $client_id})
WHERE session.id IS NOT NULL // else no index is used
  AND session.started_at >= $since AND session.started_at < $until
  AND ($conversation_id = '' OR session.conversation_id = $conversation_id)
WITH session
ORDER BY session.started_at DESC, session.id
LIMIT $newest
WITH session
WHERE NOT EXISTS {
  (session)<-[:SUMMARIZES]-(:Summary {client_id: $client_id, active: true})
}
WITH session
LIMIT $limit
MATCH (session)<-[:PART_OF]-(message:Message {client_id: $client_id})
WITH session, message
ORDER BY message.token_count DESC, message.idx
WITH session, collect(message)[..16] AS messages
UNWIND messages AS message
WITH session, size(messages) AS count, message
ORDER BY message.idx
RETURN
  session.id AS id,
  collect(substring(message.text, 0, $characters / count)) AS said
