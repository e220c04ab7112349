CYPHER 25
// Notes up to where a session was summarized; one who has looked further is not taken back.
//
// $client_id   string  whose session
// $session_id  string  its id
// $idx         int     the first idx that was not looked at
MATCH (session:Session {client_id: $client_id, id: $session_id})
SET session.locked = true
WITH session
// Deleted while this waited for the lock, it has no properties any more.
WHERE session.next_idx IS NOT NULL
SET session.summarized_idx =
  CASE WHEN session.summarized_idx > $idx THEN session.summarized_idx ELSE $idx END
RETURN count(*) AS written
