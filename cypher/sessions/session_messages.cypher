CYPHER 25
// The messages of a session in order; an evenly spread sample of a long session.
//
// $client_id   string  the client
// $session_id  string  the session
// $most        int     the maximum number
// $characters  int     the number of characters of each text
MATCH (message:Message {client_id: $client_id, session_id: $session_id})
// The index only holds nodes with an idx: without this line it is not used.
WHERE message.idx IS NOT NULL
WITH message
ORDER BY message.idx
WITH collect(message) AS messages
WITH messages, CASE WHEN size(messages) > $most THEN 1.0 * size(messages) / $most ELSE 1.0 END AS step
UNWIND range(0, CASE WHEN size(messages) > $most THEN $most ELSE size(messages) END - 1) AS place
WITH messages[toInteger(floor(place * step))] AS message
RETURN collect(message {
  .id, .session_id, .role, .name,
  text: left(message.text, $characters),
  occurred_at: toString(message.occurred_at)
}) AS rows
