CYPHER 25
// Takes the sessions of some memories back to where they were before these were examined: the vector of the
// session as a whole, its links, its summary and the episodes of its messages are made anew.
//
// $client_id  string        the client
// $ids        list<string>  the memories that are about to be deleted
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
CALL (memory) {
  MATCH (memory)-[:PART_OF|SUMMARIZES]->(session:Session {client_id: $client_id})
  RETURN session, null AS idx

  UNION ALL

  // Of an episode that loses a message.
  MATCH (memory)<-[:PART_OF]-(message:Message {client_id: $client_id})
    -[:PART_OF]->(session:Session {client_id: $client_id})
  WHERE EXISTS {
    MATCH (memory)<-[:PART_OF]-(gone:Message {client_id: $client_id})
    WHERE gone.id IN $ids
  }
  RETURN session, message.idx AS idx
}
WITH session, min(idx) AS idx
SET
  session.whole_embedding = null,
  session.whole_model = null,
  session.summarized_idx = 0,
  session.given_idx = null,
  session.taken_back = coalesce(session.taken_back, 0) + 1,
  session.segmented_idx =
    CASE WHEN idx < session.segmented_idx THEN idx ELSE session.segmented_idx END
WITH session
CALL (session) {
  MATCH (session)-[link:RELATES_TO]-(:Session {client_id: $client_id})
  DELETE link
}
RETURN DISTINCT session.conversation_id AS conversation_id
