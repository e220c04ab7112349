CYPHER 25
// Search's candidates from some sources: nearest in meaning, and those that share most words.
//
// $client_id          string        whose memories
// $source_ids         list<string>  which sources
// $kind_from          string        the least kind that passes
// $kind_to            string        the greatest
// $type_from          string        the least source_type that passes
// $type_to            string        the greatest
// $conversation_from  string        the least conversation_id that passes
// $conversation_to    string        the greatest
// $since              datetime      the first occurred_at that passes
// $until              datetime      the first that no longer does
// $embedding          list<float>   the question's vector
// $words              string        the Lucene query, inside the same scope
// $limit              int           how many of each leg
// $longest            int           up to how many characters a text comes along
CALL () {
  MATCH (memory:Memory)
    SEARCH memory IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE memory.client_id = $client_id AND memory.active = true
        AND memory.source_id IN $source_ids
        AND memory.kind >= $kind_from AND memory.kind <= $kind_to
        AND memory.source_type >= $type_from AND memory.source_type <= $type_to
        AND memory.conversation_id >= $conversation_from AND memory.conversation_id <= $conversation_to
        AND memory.occurred_at >= $since AND memory.occurred_at < $until
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
    AND memory.source_id IN $source_ids
  RETURN memory, null AS vector, score AS bm25
}
WITH memory, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  .id, .kind, .source_type, .source_id, .importance, .token_count, .start_byte, .end_byte, .sha256,
  occurred_at: toString(memory.occurred_at),
  text: CASE WHEN size(memory.search_text) <= $longest THEN memory.search_text END,
  cosine: 2 * coalesce(vector, vector.similarity.cosine(memory.embedding, $embedding)) - 1,
  bm25: bm25,
  by_vector: vector IS NOT NULL,
  passes: memory.occurred_at >= $since AND memory.occurred_at < $until
}) AS rows
