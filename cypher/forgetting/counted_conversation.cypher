CYPHER 25
// Counts what goes with a conversation beside its memories and what is made of them.
//
// $client_id  string        the client
// $id         string        its id
// $ids        list<string>  memories whose reads and reviews are counted elsewhere
// $longest    int           longer texts are not looked for
CALL () {
  UNWIND $ids AS id
  MATCH (memory:Memory {client_id: $client_id, id: id})
  RETURN collect(DISTINCT CASE WHEN size(memory.text) <= $longest THEN memory.text END) AS texts
}
RETURN
  COUNT { MATCH (conversation:Conversation {client_id: $client_id, id: $id}) } AS conversations,
  COUNT {
    MATCH (session:Session {client_id: $client_id, conversation_id: $id})
    // The index only holds nodes with an external_id: without this line it is not used.
    WHERE session.external_id IS NOT NULL
  } AS sessions,
  COUNT {
    MATCH (access:Access {client_id: $client_id, conversation_id: $id})
    // As above, with a time.
    WHERE access.at IS NOT NULL
      AND NOT (
        access.run_id = ''
        AND (
          any(text IN texts WHERE access.question CONTAINS text)
          OR EXISTS { (access)-[:RETURNED]->(memory:Memory {client_id: $client_id}) WHERE memory.id IN $ids }
        )
      )
  } AS reads,
  COUNT {
    MATCH (review:Review {client_id: $client_id, conversation_id: $id})
    // As above.
    WHERE review.at IS NOT NULL
      AND NOT any(text IN texts WHERE review.query CONTAINS text)
      AND NOT EXISTS {
        (review)-[:RETURNED|RATED]->(memory:Memory {client_id: $client_id}) WHERE memory.id IN $ids
      }
  } AS reviews
