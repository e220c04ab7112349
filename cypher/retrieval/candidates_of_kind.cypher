CYPHER 25
// The memories of one kind that lie nearest in meaning, and those that share most words.
//
// $client_id  string       whose memories
// $kind       string       which kind
// $embedding  list<float>  the question's vector
// $words      string       the Lucene query, inside the same scope
// $limit      int          how many of each leg
CALL () {
  MATCH (memory:Memory)
    SEARCH memory IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE memory.client_id = $client_id AND memory.active = true AND memory.kind = $kind
      LIMIT $limit
    ) SCORE AS score
  RETURN memory, score AS vector, null AS bm25

  UNION ALL

  MATCH (memory:Memory)
    SEARCH memory IN (
      FULLTEXT INDEX memory_text FOR $words
      LIMIT $limit
    ) SCORE AS score
  WHERE memory.client_id = $client_id AND memory.active = true AND memory.kind = $kind
  RETURN memory, null AS vector, score AS bm25
}
WITH memory, max(vector) AS vector, max(bm25) AS bm25
RETURN
  memory.id AS id,
  memory.external_id AS external_id,
  memory.kind AS kind,
  memory.role AS role,
  memory.name AS name,
  memory.occurred_at AS occurred_at,
  memory.conversation_id AS conversation_id,
  memory.session_id AS session_id,
  memory.idx AS idx,
  memory.importance AS importance,
  memory.token_count AS token_count,
  2 * coalesce(vector, vector.similarity.cosine(memory.embedding, $embedding)) - 1 AS cosine,
  bm25,
  vector IS NOT NULL AS by_vector
