CYPHER 25
// The messages of a session before, inside and after a range, nearest first, without messages already shown.
//
// $client_id   string        the client
// $session_id  string        the session
// $first       int           the first place of the range
// $last        int           its last place
// $shown       list<string>  the messages already shown
// $limit       int           the maximum number for each part
// $timed       boolean       whether the two times below apply
// $valid_by    datetime      the last valid_at that passes
// $created_by  datetime      the last created_at that passes
CALL () {
  MATCH (message:Message {client_id: $client_id, session_id: $session_id})
  WHERE message.idx < $first AND NOT message.id IN $shown
    AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
  RETURN message
  // As in the index.
  ORDER BY message.client_id DESC, message.session_id DESC, message.idx DESC
  LIMIT $limit

  UNION ALL

  MATCH (message:Message {client_id: $client_id, session_id: $session_id})
  WHERE message.idx >= $first AND message.idx <= $last AND NOT message.id IN $shown
    AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
  RETURN message
  // As in the index.
  ORDER BY message.client_id, message.session_id, message.idx
  LIMIT $limit

  UNION ALL

  MATCH (message:Message {client_id: $client_id, session_id: $session_id})
  WHERE message.idx > $last AND NOT message.id IN $shown
    AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
  RETURN message
  // As in the index.
  ORDER BY message.client_id, message.session_id, message.idx
  LIMIT $limit
}
RETURN collect(message {.id, .idx, .token_count}) AS rows
