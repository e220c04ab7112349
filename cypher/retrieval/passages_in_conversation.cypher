CYPHER 25
// The memories of the passages in a conversation nearest to the question, and of those that share the most
// words with it.
//
// $client_id        string  the client
// $conversation_id  string  the conversation
CALL () {
  // include passages_by_words
  MATCH (passage:Passage) SEARCH passage IN (
    VECTOR INDEX passage_embedding FOR one.vector
    WHERE passage.client_id = $client_id AND passage.conversation_id = $conversation_id
    LIMIT $limit
  ) SCORE AS score
  RETURN passage, score AS vector, null AS bm25
}
// include passage_candidates
