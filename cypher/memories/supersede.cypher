CYPHER 25
// Links a new version to the head that it supersedes, and ends the head with the spans of its content: their
// valid time ends where the new version begins, their transaction time now. A version that begins before the
// head does also ends the versions before the head there.
//
// $client_id    string    the client
// $id           string    the new version, written by this transaction
// $head_id      string    the head, locked by this transaction
// $active_word  string    the scope word of active memories
// $reason       string?   the reason
// $now          datetime  now
MATCH (version:Memory {client_id: $client_id, id: $id})
MATCH (head:Memory {client_id: $client_id, id: $head_id})
CREATE (version)-[:SUPERSEDES {reason: $reason, created_at: $now}]->(head)
SET
  head.active = false,
  head.superseded_at = $now,
  head.invalid_at = CASE
    WHEN version.valid_at >= head.invalid_at THEN head.invalid_at
    // A version with an earlier valid_at replaces the whole head, which was then never valid.
    WHEN version.valid_at < head.valid_at THEN head.valid_at
    ELSE version.valid_at
  END,
  head.scope_words = replace(head.scope_words, $active_word, '')
FOREACH (older IN COLLECT {
    MATCH (head)(()-[:SUPERSEDES]->(:Memory {client_id: $client_id})){1,}(older:Memory)
    WHERE version.valid_at < head.valid_at AND version.valid_at < older.invalid_at
    RETURN older
  } |
  SET older.invalid_at =
    CASE WHEN version.valid_at < older.valid_at THEN older.valid_at ELSE version.valid_at END
)
FOREACH (span IN COLLECT {
    MATCH (head)<-[:PART_OF]-(span:Span {client_id: $client_id})
    RETURN span
  } |
  SET
    span.active = false,
    span.superseded_at = $now,
    span.invalid_at = head.invalid_at,
    span.scope_words = replace(span.scope_words, $active_word, '')
)
RETURN count(*) AS written
