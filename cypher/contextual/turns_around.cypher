CYPHER 25
// The messages around some places of sessions, each once: the preceding ones, the one at the place, the
// following ones.
//
// $client_id   string     the client
// $places      list<map>  {session_id, idx}
// $before      int        the number of messages before each place
// $after       int        the number of messages from each place on
// $timed       boolean    whether the two times below apply
// $valid_by    datetime   the last valid_at that passes
// $created_by  datetime   the last created_at that passes
UNWIND $places AS place
CALL (place) {
  CALL (place) {
    MATCH (message:Message {client_id: $client_id, session_id: place.session_id})
    WHERE message.idx < place.idx
      AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
    RETURN message
    // As in the index.
    ORDER BY message.client_id DESC, message.session_id DESC, message.idx DESC
    LIMIT $before

    UNION ALL

    MATCH (message:Message {client_id: $client_id, session_id: place.session_id})
    WHERE message.idx >= place.idx
      AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
    RETURN message
    // As in the index.
    ORDER BY message.client_id, message.session_id, message.idx
    LIMIT $after
  }
  RETURN message
}
WITH DISTINCT message
RETURN collect(message {
  .id, .session_id, .idx, .role, .name, .token_count,
  content: coalesce(message.text, message.search_text, ''),
  occurred_at: toString(message.occurred_at)
}) AS rows
