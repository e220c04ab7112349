CYPHER 25
// How far a session was looked at for episodes, which of some messages no episode holds, and whether an
// episode is there already, after a lost answer.
//
// $client_id   string        whose session
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
