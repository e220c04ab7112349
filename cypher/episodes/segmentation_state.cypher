CYPHER 25
// The progress of segmentation in a session, the messages among the given ones without an episode, and
// whether an episode already exists, after a lost answer.
//
// $client_id   string        the client
// $session_id  string        its id
// $ids         list<string>  the messages
// $episode_id  string        the episode
MATCH (session:Session {client_id: $client_id, id: $session_id})
RETURN
  coalesce(session.segmented_idx, 0) AS segmented_idx,
  COLLECT {
    UNWIND $ids AS id
    MATCH (message:Memory {client_id: $client_id, id: id})
    WHERE NOT EXISTS { (message)-[:PART_OF]->(:Episode {client_id: $client_id}) }
    RETURN message.id
  } AS free,
  EXISTS { (:Memory {client_id: $client_id, id: $episode_id}) } AS written
