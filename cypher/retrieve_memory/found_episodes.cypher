CYPHER 25
// Episodes for the answer, some of them with their messages in order.
//
// $client_id  string        the client
// $ids        list<string>  their ids
// $detailed   list<string>  the episodes to return with their messages
UNWIND $ids AS id
MATCH (episode:Memory {client_id: $client_id, id: id})
WITH
  episode,
  COLLECT {
    MATCH (episode)<-[:PART_OF]-(message)
    WHERE episode.id IN $detailed AND message.client_id = $client_id
    WITH message
    ORDER BY message.position, message.id
    RETURN message {.role, content: message.text}
  } AS messages
RETURN collect(episode {
  .id, .conversation_id, .title, .stability, .difficulty, .surprise,
  summary: episode.text,
  messages: messages,
  start_at: toString(episode.start_at),
  end_at: toString(episode.end_at),
  created_at: toString(episode.created_at),
  last_reviewed_at: toString(episode.last_reviewed_at),
  consolidated_at: toString(episode.consolidated_at)
}) AS rows
