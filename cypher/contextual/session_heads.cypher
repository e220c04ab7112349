CYPHER 25
// What some sessions are called, and the summaries that hold; of one without, how it begins.
//
// $client_id        string        whose sessions
// $session_ids      list<string>  their own ids
// $characters       int           how much of a first message
// $timed            boolean       whether the times below decide, not what holds now
// $valid_by         datetime      the last valid_at that passes
// $invalid_from     datetime      the first invalid_at that passes
// $created_by       datetime      the last created_at that passes
// $superseded_from  datetime      the first superseded_at that passes
// $ending           boolean       whether what newer versions had ended by then is left out
UNWIND $session_ids AS session_id
MATCH (session:Session {client_id: $client_id, id: session_id})
CALL (session) {
  OPTIONAL MATCH (session)<-[:SUMMARIZES]-(summary:Summary {
    client_id: $client_id, source_type: 'session_summary'
  })
  WHERE (summary.active = true OR $timed)
    AND (NOT $timed OR (
      summary.valid_at <= $valid_by AND summary.invalid_at >= $invalid_from
      AND summary.created_at <= $created_by AND summary.superseded_at >= $superseded_from
    ))
    AND (NOT $ending OR NOT EXISTS {
      MATCH (summary)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
      WHERE newer.created_at <= $created_by AND newer.valid_at <= $valid_by
    })
  RETURN summary
  ORDER BY summary.created_at DESC
  LIMIT 1
}
CALL (session) {
  OPTIONAL MATCH (message:Message {client_id: $client_id, session_id: session.id})
  // The index holds what has an idx: without this line it is not used.
  WHERE message.idx IS NOT NULL
    AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
  RETURN message
  ORDER BY message.idx
  LIMIT 1
}
RETURN collect(session {
  .id, .external_id, .conversation_id,
  started_at: toString(session.started_at),
  summary_id: summary.id,
  summary: summary.text,
  beginning: left(message.text, $characters)
}) AS rows
