CYPHER 25
// The memories that hold now and lie nearest in meaning, and those that share most words: for the usual
// filters alone, since every test in the vector index takes its time, also one that everything passes.
//
// $client_id             string     whose memories
// $vectors               list<map>  {place, vector}: the question's vectors, none or several
// $kind_from             string     the least kind that passes
// $kind_to               string     the greatest
// $conversation_id_from  string     the least conversation_id that passes
// $conversation_id_to    string     the greatest
// $source_type_from      string     the least source_type that passes
// $source_type_to        string     the greatest
// A cosine is that to the nearest of the vectors; `places` are those that found the memory. What the index
// cannot decide, lists and the times of the words leg, comes back as `passes`.
CALL () {
  UNWIND $vectors AS one
  CALL (one) {
    MATCH (memory:Memory)
      SEARCH memory IN (
        VECTOR INDEX memory_embedding FOR one.vector
        WHERE memory.client_id = $client_id AND memory.active = true
          AND memory.kind >= $kind_from AND memory.kind <= $kind_to
          AND memory.conversation_id >= $conversation_id_from AND memory.conversation_id <= $conversation_id_to
          AND memory.source_type >= $source_type_from AND memory.source_type <= $source_type_to
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
  passes: memory.client_id = $client_id
    // include values_in
}) AS rows
