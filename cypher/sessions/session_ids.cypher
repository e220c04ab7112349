CYPHER 25
// A session, if there is one with this id.
//
// $client_id   string  the client
// $session_id  string  its own id
MATCH (session:Session {client_id: $client_id, id: $session_id})
RETURN session.id AS id
