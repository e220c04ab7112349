CYPHER 25
// A session, the progress of its summarization, and its current summary; no row if there is no such session.
//
// $client_id   string  the client
// $session_id  string  its id
MATCH (session:Session {client_id: $client_id, id: $session_id})
RETURN
  session.next_idx AS next_idx,
  coalesce(session.given_idx, 0) AS given_idx,
  coalesce(session.taken_back, 0) AS taken_back,
  COLLECT {
    MATCH (summary:Summary {
      client_id: $client_id, source_type: 'session_summary', source_id: session.id
    })
    // The index only holds nodes with a version: without this line it is not used.
    WHERE summary.version IS NOT NULL AND summary.active = true
    RETURN summary {.id, .text, .key_points, .topics}
  } AS summaries
