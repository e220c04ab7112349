CYPHER 25
// The beginnings of one session's longest messages.
//
// $session_id  string  its id
MATCH (session:Session {client_id: $client_id, id: $session_id})
// include said_in_session
