CYPHER 25
// The first and last place of some messages in a session; null if none of them is in it.
//
// $client_id   string        the client
// $session_id  string        the session
// $ids         list<string>  the messages; other ids are ignored
UNWIND $ids AS id
MATCH (message:Memory {client_id: $client_id, id: id})
WHERE message.kind = 'message' AND message.session_id = $session_id
RETURN min(message.idx) AS first, max(message.idx) AS last
