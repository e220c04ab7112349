CYPHER 25
// Stores the progress of summarization in a session; a writer that got further is not set back.
//
// $client_id   string  the client
// $session_id  string  its id
// $idx         int     the first idx not yet examined
MATCH (session:Session {client_id: $client_id, id: $session_id})
SET session.locked = true
WITH session
// A node that was deleted while this waited for the lock has no properties.
WHERE session.next_idx IS NOT NULL
SET session.summarized_idx =
  CASE WHEN session.summarized_idx > $idx THEN session.summarized_idx ELSE $idx END
RETURN count(*) AS written
