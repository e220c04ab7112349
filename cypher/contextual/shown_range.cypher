CYPHER 25
// From where to where in a session some messages stand; null where none of them does.
//
// $client_id   string        whose messages
// $session_id  string        which session
// $ids         list<string>  the messages, and others that are passed over
UNWIND $ids AS id
MATCH (message:Memory {client_id: $client_id, id: id})
WHERE message.kind = 'message' AND message.session_id = $session_id
RETURN min(message.idx) AS first, max(message.idx) AS last
