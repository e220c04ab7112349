CYPHER 25
// Stores the progress of summarization in a session, and its vector as a whole; a writer that got further is
// not set back.
//
// $client_id   string       the client
// $session_id  string       its id
// $idx         int          the first idx not yet examined
// $whole       list<float>  the vector of the session as a whole
// $model       string       the embedding model that made it, with its hash
// $taken_back  int          how often it had been taken back when it was read: no row is written if that changed
// $given_idx   int          the first idx that a caller's own summary did not cover then: likewise
MATCH (session:Session {client_id: $client_id, id: $session_id})
SET session.locked = true
WITH session
// A node that was deleted while this waited for the lock has no properties.
WHERE session.next_idx IS NOT NULL
  AND coalesce(session.taken_back, 0) = $taken_back
  AND coalesce(session.given_idx, 0) = $given_idx
SET
  session.summarized_idx =
    CASE WHEN session.summarized_idx > $idx THEN session.summarized_idx ELSE $idx END,
  session.whole_model = $model
WITH session
CALL db.create.setNodeVectorProperty(session, 'whole_embedding', $whole)
RETURN count(*) AS written
