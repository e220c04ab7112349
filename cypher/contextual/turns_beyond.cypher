CYPHER 25
// The messages of a session before a place, in between, and after another, the nearest first; without those
// that were shown already.
//
// $client_id   string        whose messages
// $session_id  string        which session
// $first       int           where in between begins
// $last        int           and ends
// $shown       list<string>  the messages that are passed over
// $limit       int           how many of each
// $timed       boolean       whether the two times below decide, not only what holds now
// $valid_by    datetime      the last valid_at that passes
// $created_by  datetime      the last created_at that passes
CALL () {
  MATCH (message:Message {client_id: $client_id, session_id: $session_id})
  WHERE message.idx < $first AND NOT message.id IN $shown
    AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
  RETURN message
  ORDER BY message.idx DESC
  LIMIT $limit

  UNION ALL

  MATCH (message:Message {client_id: $client_id, session_id: $session_id})
  WHERE message.idx >= $first AND message.idx <= $last AND NOT message.id IN $shown
    AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
  RETURN message
  ORDER BY message.idx
  LIMIT $limit

  UNION ALL

  MATCH (message:Message {client_id: $client_id, session_id: $session_id})
  WHERE message.idx > $last AND NOT message.id IN $shown
    AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
  RETURN message
  ORDER BY message.idx
  LIMIT $limit
}
RETURN collect(message {.id, .idx, .token_count}) AS rows
