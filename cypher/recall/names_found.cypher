CYPHER 25
// Tells which names of a question occur in any memory.
//
// $client_id  string     the client
// $names      list<map>  {place, words}: for each name the Lucene query for it, restricted to the same scope
UNWIND $names AS name
CALL (name) {
  MATCH (memory:Memory)
    SEARCH memory IN (
      FULLTEXT INDEX memory_text FOR name.words
      LIMIT 1
    )
  WHERE memory.client_id = $client_id
  RETURN count(*) AS memories
}
WITH name, memories
WHERE memories > 0
RETURN collect({place: name.place}) AS rows
