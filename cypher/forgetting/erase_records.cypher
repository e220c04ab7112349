CYPHER 25
// Deletes what recorded some memories, or repeats the text of one: reads with their questions, reviews,
// contexts; the statements of operators lose their text.
//
// $client_id  string        the client
// $ids        list<string>  the memories
// $longest    int           longer texts are not looked for
// $named      string        a pattern for questions whose reads are counted elsewhere; '' for none
// $dry_run    boolean       whether reads are only counted: their many edges would fill the transaction's memory
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
WITH collect(memory) AS gone,
  collect(DISTINCT CASE WHEN size(memory.text) <= $longest THEN memory.text END) AS texts
// A row of each read would carry both lists.
CALL (gone) {
  UNWIND gone AS memory
  MATCH (memory)<-[:RETURNED]-(access:Access {client_id: $client_id, run_id: ''})
  WHERE $named = '' OR NOT access.question =~ $named
  RETURN collect(DISTINCT access) AS returned
}
CALL (texts) {
  MATCH (access:Access {client_id: $client_id, run_id: ''})
  WHERE access.at IS NOT NULL AND access.id IS NOT NULL // else no index is used
    AND any(text IN texts WHERE access.question CONTAINS text)
    AND ($named = '' OR NOT access.question =~ $named)
    AND NOT EXISTS { (access)-[:RETURNED]->(memory:Memory {client_id: $client_id}) WHERE memory.id IN $ids }
  RETURN collect(access) AS told
}
FOREACH (access IN CASE WHEN $dry_run THEN [] ELSE returned + told END | DETACH DELETE access)
WITH gone, texts, size(returned) + size(told) AS reads
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
