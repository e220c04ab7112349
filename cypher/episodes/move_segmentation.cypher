CYPHER 25
// Stores the progress of segmentation in a session.
//
// $client_id   string  the client
// $session_id  string  its id; this transaction has locked its conversation
// $idx         int     the first idx not yet examined
MATCH (session:Session {client_id: $client_id, id: $session_id})
SET session.segmented_idx = $idx
RETURN count(*) AS written
