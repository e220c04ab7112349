CYPHER 25
// Search's candidates at any times: those that lie nearest in meaning, and those that share most words.
//
// $client_id          string        whose memories
// $kind_from          string        the least kind that passes
// $kind_to            string        the greatest
// $type_from          string        the least source_type that passes
// $type_to            string        the greatest
// $conversation_from  string        the least conversation_id that passes
// $conversation_to    string        the greatest
// $source_from        string        the least source_id that passes
// $source_to          string        the greatest
// $source_ids         list<string>  those that pass, all when empty
// $since              datetime      the first occurred_at that passes
// $until              datetime      the first that no longer does
// $valid_by           datetime      the last valid_at that passes
// $invalid_from       datetime      the first invalid_at that passes
// $created_by         datetime      the last created_at that passes
// $superseded_from    datetime      the first superseded_at that passes
// $ending             boolean       whether what newer versions had ended by then is left out
// $embedding          list<float>   the question's vector
// $words              string        the Lucene query, inside the same scope
// $limit              int           how many of each leg
// $longest            int           up to how many characters a text comes along
// What the index cannot decide, which newer versions there were by then, comes back as `passes`.
CALL () {
  MATCH (memory:Memory)
    SEARCH memory IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE memory.client_id = $client_id
        AND memory.kind >= $kind_from AND memory.kind <= $kind_to
        AND memory.source_type >= $type_from AND memory.source_type <= $type_to
        AND memory.conversation_id >= $conversation_from AND memory.conversation_id <= $conversation_to
        AND memory.source_id >= $source_from AND memory.source_id <= $source_to
        AND memory.occurred_at >= $since AND memory.occurred_at < $until
        AND memory.valid_at <= $valid_by AND memory.invalid_at >= $invalid_from
        AND memory.created_at <= $created_by AND memory.superseded_at >= $superseded_from
      LIMIT $limit
    ) SCORE AS score
  RETURN memory, score AS vector, null AS bm25

  UNION ALL

  MATCH (memory:Memory)
    SEARCH memory IN (
      FULLTEXT INDEX memory_text FOR $words
      LIMIT $limit
    ) SCORE AS score
  WHERE memory.client_id = $client_id
  RETURN memory, null AS vector, score AS bm25
}
WITH memory, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  .id, .kind, .source_type, .importance, .token_count,
  occurred_at: toString(memory.occurred_at),
  text: CASE WHEN size(memory.search_text) <= $longest THEN memory.search_text END,
  cosine: 2 * coalesce(vector, vector.similarity.cosine(memory.embedding, $embedding)) - 1,
  bm25: bm25,
  by_vector: vector IS NOT NULL,
  passes:
    (size($source_ids) = 0 OR memory.source_id IN $source_ids)
    AND memory.occurred_at >= $since AND memory.occurred_at < $until
    AND memory.valid_at <= $valid_by AND memory.invalid_at >= $invalid_from
    AND memory.created_at <= $created_by AND memory.superseded_at >= $superseded_from
    AND (NOT $ending OR NOT coalesce(
      memory.invalidated_at <= $created_by AND memory.invalidated_from <= $valid_by, false
    ))
    AND (NOT $ending OR NOT EXISTS {
      // A span ends with the version of the reference that it is part of.
      MATCH (memory)(()-[:PART_OF]->(:Reference {client_id: $client_id})){0,1}()
        (()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
      WHERE newer.created_at <= $created_by AND newer.valid_at <= $valid_by
    })
}) AS rows
