CYPHER 25
// The memories that hold now, inside the usual filters, that lie nearest in meaning, and those that share most
// words.
//
// $client_id  string  whose memories
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
