CYPHER 25
// The memories of a conversation nearest to the question, and those that share the most words with it.
//
// $client_id        string  the client
// $conversation_id  string  the conversation
CALL () {
  // include words_branch
  MATCH (memory:Memory) SEARCH memory IN (
    VECTOR INDEX memory_embedding FOR one.vector
    WHERE memory.client_id = $client_id AND memory.active = true AND memory.conversation_id = $conversation_id
    LIMIT $limit
  ) SCORE AS score
  RETURN memory, one.place AS place, score AS vector, null AS bm25
}
// include candidates_now
