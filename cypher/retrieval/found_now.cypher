CYPHER 25
// The active memories inside the usual filters nearest to the question, and those that share the most words
// with it.
//
// $client_id  string  the client
CALL () {
  // include words_branch
  MATCH (memory:Memory) SEARCH memory IN (
    VECTOR INDEX memory_embedding FOR one.vector
    // include usual_ranges
    LIMIT $limit
  ) SCORE AS score
  RETURN memory, one.place AS place, score AS vector, null AS bm25
}
// include candidates_among
