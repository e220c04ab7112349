CYPHER 25
// Notes at messages that stay what their episodes, which are about to be deleted, knew: what was derived from
// these, that they were consolidated, and of an episode that loses no message that none is to be made again.
//
// $client_id  string        the client
// $ids        list<string>  the memories that are about to be deleted
// $derived    boolean       whether what was derived is deleted too: then the messages are to be consolidated again
UNWIND $ids AS id
MATCH (episode:Memory {client_id: $client_id, id: id})
WHERE episode:Episode
WITH episode, COLLECT {
  MATCH (episode)<-[:PART_OF]-(message:Message {client_id: $client_id})
  RETURN message
} AS messages
WITH episode, messages, [message IN messages WHERE NOT message.id IN $ids] AS staying
FOREACH (message IN staying |
  SET
    message.episode_deleted =
      CASE WHEN size(staying) = size(messages) THEN true ELSE message.episode_deleted END,
    message.episode_consolidated_at =
      CASE WHEN $derived THEN null
      ELSE coalesce(episode.consolidated_at, message.episode_consolidated_at) END
)
WITH episode, staying
CALL (episode, staying) {
  MATCH (episode)<-[:DERIVED_FROM]-(made:Memory {client_id: $client_id})
  WHERE NOT made.id IN $ids
  UNWIND staying AS message
  MERGE (made)-[:DERIVED_FROM]->(message)
}
RETURN count(*) AS written
