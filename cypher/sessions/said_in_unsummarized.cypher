CYPHER 25
// Sessions that have no summary yet, the newest first, and the beginnings of their longest messages in the
// order in which they were said.
//
// $client_id        string    whose sessions
// $conversation_id  string    of this conversation only, '' for all
// $since            datetime  sessions that began then or later
// $until            datetime  and before then
// $newest           int       among how many, the newest
// $limit            int       how many of these at most
// $characters       int       how long all beginnings of a session are together
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
