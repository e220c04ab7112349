CYPHER 25
// The memories of one kind that lie nearest in meaning, and those that share most words.
//
// $client_id  string  whose memories
// $kind       string  which kind
CALL () {
  // include words_branch
  MATCH (memory:Memory) SEARCH memory IN (
    VECTOR INDEX memory_embedding FOR one.vector
    WHERE memory.client_id = $client_id AND memory.active = true AND memory.kind = $kind
    LIMIT $limit
  ) SCORE AS score
  RETURN memory, one.place AS place, score AS vector, null AS bm25
}
// include candidates_now
