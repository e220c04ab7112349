// The beginnings of the longest messages of a session, in order.
//
// $client_id   string  the client
// $characters  int     the total length of the beginnings of a session
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
