CYPHER 25
// The memories that hold now and lie nearest in meaning, and those that share most words: without filters,
// since every test in the vector index takes its time, also one that everything passes.
//
// $client_id  string     whose memories
// $vectors    list<map>  {place, vector}: the question's vectors, none or several
// A cosine is that to the nearest of the vectors; `places` are those that found the memory.
CALL () {
  UNWIND $vectors AS one
  CALL (one) {
    MATCH (memory:Memory)
      SEARCH memory IN (
        VECTOR INDEX memory_embedding FOR one.vector
        WHERE memory.client_id = $client_id AND memory.active = true
        LIMIT $limit
      ) SCORE AS score
    RETURN memory, score
  }
  RETURN memory, one.place AS place, score AS vector, null AS bm25

  UNION ALL

  // include words_leg
    AND memory.active = true
  RETURN memory, null AS place, null AS vector, score AS bm25
}
WITH memory, collect(place) AS places, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  // include candidate
  // include both_legs
  passes: true
}) AS rows
