CYPHER 25
// The memories of one kind in a conversation that lie nearest in meaning, and those that share most words.
//
// $client_id        string       whose memories
// $conversation_id  string       which conversation
// $kind             string       which kind
// $embedding        list<float>  the question's vector
// $words            string       the Lucene query, inside the same scope
// $limit            int          how many of each leg
CALL () {
  MATCH (memory:Memory)
    SEARCH memory IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE memory.client_id = $client_id AND memory.active = true
        AND memory.conversation_id = $conversation_id AND memory.kind = $kind
      LIMIT $limit
    ) SCORE AS score
  RETURN memory, score AS vector, null AS bm25

  UNION ALL

  MATCH (memory:Memory)
    SEARCH memory IN (
      FULLTEXT INDEX memory_text FOR $words
      LIMIT $limit
    ) SCORE AS score
  WHERE memory.client_id = $client_id AND memory.active = true
        AND memory.conversation_id = $conversation_id AND memory.kind = $kind
  RETURN memory, null AS vector, score AS bm25
}
WITH memory, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  .id, .external_id, .kind, .role, .name, .conversation_id, .session_id, .idx, .importance,
  .token_count,
  occurred_at: toString(memory.occurred_at),
  cosine: 2 * coalesce(vector, vector.similarity.cosine(memory.embedding, $embedding)) - 1,
  bm25: bm25,
  by_vector: vector IS NOT NULL
}) AS rows
