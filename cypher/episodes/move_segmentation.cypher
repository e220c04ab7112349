CYPHER 25
// Notes up to where a session was looked at for episodes.
//
// $client_id   string  whose session
// $session_id  string  its id, its conversation locked by this transaction
// $idx         int     the first idx that was not looked at
MATCH (session:Session {client_id: $client_id, id: $session_id})
SET session.segmented_idx = $idx
RETURN count(*) AS written
