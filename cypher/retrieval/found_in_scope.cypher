CYPHER 25
// The memories inside any filters that lie nearest in meaning, and those that share most words.
//
// $client_id       string     whose memories
// $vectors         list<map>  {place, vector}: the question's vectors, none or several
// $source_id_from  string     the least source_id that passes
// $source_id_to    string     the greatest
// A cosine is that to the nearest of the vectors; `places` are those that found the memory. What the index
// cannot decide, lists and the times of the words leg, comes back as `passes`.
CALL () {
  UNWIND $vectors AS one
  CALL (one) {
    MATCH (memory:Memory)
      SEARCH memory IN (
        VECTOR INDEX memory_embedding FOR one.vector
        // include index_ranges
          AND memory.source_id >= $source_id_from AND memory.source_id <= $source_id_to
        LIMIT $limit
      ) SCORE AS score
    RETURN memory, score
  }
  RETURN memory, one.place AS place, score AS vector, null AS bm25

  UNION ALL

  // include words_leg
  RETURN memory, null AS place, null AS vector, score AS bm25
}
WITH memory, collect(place) AS places, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  // include candidate
  // include both_legs
  passes: memory.client_id = $client_id
    // include values_in
    // include held_then
}) AS rows
