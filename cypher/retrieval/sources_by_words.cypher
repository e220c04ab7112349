CYPHER 25
// Search's candidates that share most words with a question, where there is no vector of it.
//
// $client_id         string        whose memories
// $whole_kinds       list<string>  the kinds that pass whatever their source type
// $source_types      list<string>  the source types that pass
// $source_ids        list<string>  the sources that pass, all when empty
// $conversation_ids  list<string>  the conversations that pass, all when empty
// $since             datetime      the first occurred_at that passes
// $until             datetime      the first that no longer does
// $words             string        the Lucene query, inside the same scope
// $limit             int           how many
// $longest           int           up to how many characters a text comes along
MATCH (memory:Memory)
  SEARCH memory IN (
    FULLTEXT INDEX memory_text FOR $words
    LIMIT $limit
  ) SCORE AS bm25
WHERE memory.client_id = $client_id AND memory.active = true
RETURN collect(memory {
  .id, .kind, .source_type, .importance, .token_count,
  occurred_at: toString(memory.occurred_at),
  text: CASE WHEN size(memory.search_text) <= $longest THEN memory.search_text END,
  bm25: bm25,
  passes:
    memory.occurred_at >= $since AND memory.occurred_at < $until
    AND (memory.kind IN $whole_kinds OR memory.source_type IN $source_types)
    AND (size($source_ids) = 0 OR memory.source_id IN $source_ids)
    AND (size($conversation_ids) = 0 OR memory.conversation_id IN $conversation_ids)
}) AS rows
