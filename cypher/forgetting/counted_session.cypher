CYPHER 25
// Counts a session that has no messages but these.
//
// $client_id        string        the client
// $id               string        its id
// $conversation_id  string        its conversation; null for any
// $ids              list<string>  the messages
MATCH (session:Session {client_id: $client_id, id: $id})
WHERE ($conversation_id IS NULL OR session.conversation_id = $conversation_id)
  AND NOT EXISTS {
    (session)<-[:PART_OF]-(message:Message {client_id: $client_id}) WHERE NOT message.id IN $ids
  }
RETURN count(*) AS sessions
