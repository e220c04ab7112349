CYPHER 25
// The active memories of some sources inside the usual filters nearest to the question, and those that share
// the most words with it.
//
// $client_id     string        the client
// $source_id_in  list<string>  the sources
CALL () {
  // include words_branch
  MATCH (memory:Memory) SEARCH memory IN (
    VECTOR INDEX memory_embedding FOR one.vector
    // include usual_ranges
      AND memory.source_id IN $source_id_in
    LIMIT $limit
  ) SCORE AS score
  RETURN memory, one.place AS place, score AS vector, null AS bm25
}
// include candidates_among
