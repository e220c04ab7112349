CYPHER 25
// Deletes what recorded some memories, or repeats the text of one: reads with their questions, reviews,
// contexts; the statements of operators lose their text.
//
// $client_id  string        the client
// $ids        list<string>  the memories
// $longest    int           longer texts are not looked for
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
WITH collect(memory) AS gone,
  collect(DISTINCT CASE WHEN size(memory.text) <= $longest THEN memory.text END) AS texts
CALL (gone, texts) {
  CALL (gone, texts) {
    UNWIND gone AS memory
    MATCH (memory)<-[:RETURNED]-(access:Access {client_id: $client_id, run_id: ''})
    RETURN access

    UNION

    MATCH (access:Access {client_id: $client_id, run_id: ''})
    WHERE access.at IS NOT NULL AND access.id IS NOT NULL // else no index is used
      AND any(text IN texts WHERE access.question CONTAINS text)
    RETURN access
  }
  WITH DISTINCT access
  DETACH DELETE access
  RETURN count(*) AS reads
}
CALL (gone, texts) {
  CALL (gone, texts) {
    UNWIND gone AS memory
    MATCH (memory)<-[:RETURNED|RATED]-(review:Review {client_id: $client_id})
    RETURN review

    UNION

    MATCH (review:Review {client_id: $client_id})
    WHERE review.id IS NOT NULL AND any(text IN texts WHERE review.query CONTAINS text)
    RETURN review
  }
  WITH DISTINCT review
  DETACH DELETE review
  RETURN count(*) AS reviews
}
CALL (texts) {
  MATCH (context:Context {client_id: $client_id})
  WHERE context.id IS NOT NULL AND any(text IN texts WHERE context.system_prompt CONTAINS text)
  DETACH DELETE context
  RETURN count(*) AS contexts
}
CALL (texts) {
  MATCH (entry:Audit {client_id: $client_id})
  WHERE entry.id IS NOT NULL AND any(text IN texts WHERE entry.query CONTAINS text)
  SET entry.query = ''
  RETURN count(*) AS statements
}
RETURN reads, reviews, contexts, statements
