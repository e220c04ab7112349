CYPHER 25
// The client's other sessions whose summaries are nearest to that of a session.
//
// $client_id   string       the client
// $session_id  string       the session to compare with
// $embedding   list<float>  its summary's vector
// $limit       int          the number of summaries examined
MATCH (summary:Memory)
  SEARCH summary IN (
    VECTOR INDEX memory_embedding FOR $embedding
    WHERE summary.client_id = $client_id AND summary.active = true
      AND summary.source_type = 'session_summary'
      // A summary of something else than a session has no session id, which is ''.
      AND summary.session_id >= '0'
    LIMIT $limit
  ) SCORE AS score
WHERE summary.session_id <> $session_id
WITH summary.session_id AS session_id, max(score) AS score
ORDER BY score DESC, session_id
RETURN collect({session_id: session_id, cosine: 2 * score - 1}) AS rows
