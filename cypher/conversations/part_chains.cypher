CYPHER 25
// Deletes the versions in a conversation of memories that have versions elsewhere too, and joins the others:
// each supersedes the one before it that is left, ends where a newer one that is left begins first, and the
// newest that is left holds again.
//
// $client_id    string    the client
// $id           string    the conversation
// $active_word  string    the scope word of active memories
// $end          datetime  the value for no upper bound
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
// Whoever joins a version to one of this conversation holds this lock.
SET conversation.locked = true
WITH conversation
// A node that was deleted while this waited for the lock has no properties.
WHERE conversation.next_position IS NOT NULL
MATCH (memory:Memory {client_id: $client_id, conversation_id: $id})
WHERE EXISTS {
  MATCH (memory)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(version:Memory)
  WHERE version.conversation_id <> $id
}
MATCH (memory)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(version:Memory)
WITH DISTINCT version
// In one order, so that deletions of two conversations of a chain wait for each other and do not deadlock.
ORDER BY version.id
SET version.locked = true
WITH collect(version) AS locked
// As above.
WITH [version IN locked WHERE version.kind IS NOT NULL] AS versions
CALL (versions) {
  UNWIND versions AS version
  WITH version, coalesce(version.invalidated_from, $end) AS ended
  WHERE version.conversation_id <> $id
  WITH version, ended, COLLECT {
    MATCH (version)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    WHERE newer.conversation_id <> $id
    RETURN newer.valid_at
    ORDER BY newer.valid_at
    LIMIT 1
  }[0] AS replaced
  SET version.invalid_at = CASE
    WHEN replaced IS NULL OR replaced >= ended THEN ended
    WHEN replaced < version.valid_at THEN version.valid_at
    ELSE replaced
  END
}
CALL (versions) {
  UNWIND versions AS prior
  WITH prior
  WHERE prior.conversation_id <> $id AND EXISTS {
    MATCH (prior)<-[:SUPERSEDES]-(:Memory {client_id: $client_id, conversation_id: $id})
  }
  CALL (prior) {
    OPTIONAL MATCH path =
      (prior)(()<-[edges:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(next:Memory)
    WHERE next.conversation_id <> $id
    RETURN next, last(edges) AS edge
    ORDER BY length(path)
    LIMIT 1
  }
  FOREACH (_ IN CASE WHEN next IS NULL THEN [] ELSE [true] END |
    CREATE (next)-[:SUPERSEDES {reason: edge.reason, created_at: edge.created_at}]->(prior)
  )
  SET
    prior.active = next IS NULL AND prior.invalidated_at IS NULL,
    prior.superseded_at = coalesce(next.created_at, $end)
  SET prior.scope_words = CASE
    WHEN prior.active THEN prior.scope_words + ' ' + $active_word
    ELSE prior.scope_words
  END
}
WITH [version IN versions WHERE version.conversation_id = $id] AS gone
WITH
  gone,
  COLLECT {
    UNWIND gone AS memory
    MATCH (memory)-[:MENTIONS|NAMES]->(entity:Entity {client_id: $client_id})
    RETURN DISTINCT entity.normalized
  } AS entities
// include uncount
// include delete_passages
FOREACH (memory IN gone | DETACH DELETE memory)
RETURN size(gone) AS memories, entities
