CYPHER 25
// The names of some sessions and their current summaries; for a session without one, its beginning.
//
// $client_id    string        the client
// $session_ids  list<string>  their own ids
// $characters   int           the number of characters of a first message
// $timed        boolean       whether the times below apply, not the current state
UNWIND $session_ids AS session_id
MATCH (session:Session {client_id: $client_id, id: session_id})
CALL (session) {
  OPTIONAL MATCH (session)<-[:SUMMARIZES]-(summary:Summary {
    client_id: $client_id, source_type: 'session_summary'
  })
  // Without a time the newest counts, not what is active: beside a write neither version may be, or both.
  WHERE NOT $timed OR (true
    // include held_then(summary)
  )
  RETURN summary
  ORDER BY summary.created_at DESC, summary.version DESC
  LIMIT 1
}
CALL (session) {
  OPTIONAL MATCH (message:Message {client_id: $client_id, session_id: session.id})
  // The index only holds nodes with an idx: without this line it is not used.
  WHERE message.idx IS NOT NULL
    AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
  RETURN message
  // As in the index.
  ORDER BY message.client_id, message.session_id, message.idx
  LIMIT 1
}
RETURN collect(session {
  .id, .external_id, .conversation_id,
  started_at: toString(session.started_at),
  summary_id: summary.id,
  summary: summary.text,
  beginning: left(coalesce(message.text, message.search_text, ''), $characters)
}) AS rows
