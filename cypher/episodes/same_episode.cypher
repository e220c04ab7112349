CYPHER 25
// The first episode of a conversation with exactly these messages that matches all given values.
//
// $client_id        string        the client
// $conversation_id  string        its conversation, locked by this transaction
// $message_ids      list<string>  the messages, each once
// $title            string        its title, '' for any
// $summary          string        its summary, '' for any
// $surprise         float         its surprise, negative for any
// $start_at         datetime      when it began
// $end_at           datetime      when it ended
// $timed            boolean       whether these two were given
MATCH (:Memory {client_id: $client_id, id: $message_ids[0]})-[:PART_OF]->(episode:Episode)
WHERE episode.client_id = $client_id AND episode.conversation_id = $conversation_id
  AND ($title = '' OR episode.title = $title)
  AND ($summary = '' OR episode.text = $summary)
  AND ($surprise < 0 OR episode.surprise = $surprise)
  AND (NOT $timed OR (episode.start_at = $start_at AND episode.end_at = $end_at))
WITH episode, COLLECT {
  MATCH (episode)<-[:PART_OF]-(message:Message {client_id: $client_id})
  RETURN message.id
} AS held
WHERE size(held) = size($message_ids) AND all(id IN held WHERE id IN $message_ids)
RETURN
  episode.id AS id,
  episode.title AS title,
  episode.text AS summary,
  episode.surprise AS surprise,
  episode.start_at AS start_at,
  episode.end_at AS end_at,
  coalesce(episode.embedding_truncated, false) AS embedding_truncated
ORDER BY episode.created_at, episode.id
LIMIT 1
