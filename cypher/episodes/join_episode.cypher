CYPHER 25
// Links a new episode to its conversation, its messages, and the episodes that ended before and after it.
//
// $client_id        string        the client
// $conversation_id  string        its conversation, locked by this transaction
// $id               string        its id
// $end_at           datetime      when it ended
// $message_ids      list<string>  its messages
MATCH (episode:Memory {client_id: $client_id, id: $id})
MATCH (conversation:Conversation {client_id: $client_id, id: $conversation_id})
CREATE (episode)-[:PART_OF]->(conversation)
WITH episode
CALL (episode) {
  UNWIND $message_ids AS message_id
  MATCH (message:Memory {client_id: $client_id, id: message_id})
  CREATE (message)-[:PART_OF]->(episode)
  RETURN count(message) AS joined
}
// Of episodes that ended at the same moment, the one written last comes last, with no successor among them.
OPTIONAL CALL (episode) {
  MATCH (before:Episode {client_id: $client_id, conversation_id: $conversation_id})
  WHERE before.end_at <= $end_at AND before.id <> episode.id
    AND NOT EXISTS {
      MATCH (before)-[:NEXT]->(other:Episode {client_id: $client_id})
      WHERE other.end_at <= $end_at
    }
  RETURN before
  // As in the index.
  ORDER BY before.client_id DESC, before.conversation_id DESC, before.end_at DESC, before.id
  LIMIT 1
}
OPTIONAL CALL (episode) {
  MATCH (after:Episode {client_id: $client_id, conversation_id: $conversation_id})
  WHERE after.end_at > $end_at
    AND NOT EXISTS {
      MATCH (other:Episode {client_id: $client_id})-[:NEXT]->(after)
      WHERE other.end_at > $end_at
    }
  RETURN after
  // As in the index.
  ORDER BY after.client_id, after.conversation_id, after.end_at, after.id
  LIMIT 1
}
OPTIONAL MATCH (before)-[old:NEXT]->(after)
DELETE old
FOREACH (_ IN CASE WHEN before IS NULL THEN [] ELSE [true] END | CREATE (before)-[:NEXT]->(episode))
FOREACH (_ IN CASE WHEN after IS NULL THEN [] ELSE [true] END | CREATE (episode)-[:NEXT]->(after))
RETURN joined AS written
