CYPHER 25
// Links a new version to the head that it supersedes, and ends the head with the spans of its content: their
// valid time ends where the new version begins, their transaction time now. A version that begins before the
// head does also ends the versions before the head there.
//
// The new version has the links of the head, and if it begins before the head does, also those that older
// versions have to what holds beside it. Links of others to byte ranges of the old text stay there. So do links to
// a version that ended before the new one begins if its successor has them too: corrections of both of two
// linked memories would multiply their links. A link by similarity gets the score of the new text.
//
// $client_id    string        the client
// $id           string        the new version, written by this transaction
// $head_id      string        the head, locked by this transaction
// $active_word  string        the scope word of active memories
// $types        list<string>  the types of the links that are copied
// $reason       string?       the reason
// $now          datetime      now
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
WITH version, head
CALL (version, head) {
  UNWIND [head] + CASE WHEN version.valid_at >= head.valid_at THEN [] ELSE COLLECT {
    MATCH (head)(()-[:SUPERSEDES]->(:Memory {client_id: $client_id})){1,}(older:Memory)
    RETURN older
  } END AS older
  MATCH (older)-[link:
    // include link_types
  ]-(other:Memory {client_id: $client_id})
  WHERE other <> version AND type(link) IN $types
    AND (link.start_byte IS NULL OR startNode(link) = older)
    AND CASE
      WHEN older <> head THEN other.invalid_at > version.valid_at AND EXISTS {
        MATCH (head)-[same]-(:Memory {client_id: $client_id})
        WHERE type(same) = type(link) AND same.created_at = link.created_at
      }
      ELSE NOT (other.invalid_at <= version.valid_at AND EXISTS {
        MATCH (other)<-[:SUPERSEDES]-(:Memory {client_id: $client_id})-[same]-(head)
        WHERE type(same) = type(link) AND same.start_byte IS NULL AND link.start_byte IS NULL
          AND (startNode(same) = head) = (startNode(link) = head)
      })
    END
  WITH version, other, type(link) AS type, startNode(link) = older AS leaving,
    link.start_byte AS start_byte, link.end_byte AS end_byte, collect(properties(link))[0] AS properties
  CALL (version, other, type, leaving, properties) {
    WITH version, other, type, leaving, properties
    WHERE leaving
    CREATE (version)-[copy:$(type)]->(other)
    SET copy = properties
    RETURN copy

    UNION ALL

    WITH version, other, type, leaving, properties
    WHERE NOT leaving
    CREATE (version)<-[copy:$(type)]-(other)
    SET copy = properties
    RETURN copy
  }
  FOREACH (found IN CASE copy.basis WHEN 'similar' THEN [copy] ELSE [] END |
    SET found.score = round(coalesce(
      2 * vector.similarity.cosine(version.embedding, other.embedding) - 1, found.score
    ), 4)
  )
  RETURN count(*) AS links
}
RETURN 1 + links AS written
