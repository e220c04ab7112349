CYPHER 25
// Of the memories inside a scope the nearest in meaning, by exact cosine.
//
// $client_id         string        whose memories
// $whole_kinds       list<string>  the kinds that pass whatever their source type
// $source_types      list<string>  the source types that pass
// $source_ids        list<string>  the sources that pass, all when empty
// $conversation_ids  list<string>  the conversations that pass, all when empty
// $embedding         list<float>   the question's vector
// $scope             string        the Lucene query for everything in scope
// $most              int           how many are compared
// $limit             int           how many
// $longest           int           up to how many characters a text comes along
MATCH (memory:Memory)
  SEARCH memory IN (
    FULLTEXT INDEX memory_text FOR $scope
    LIMIT $most
  )
WHERE memory.client_id = $client_id AND memory.active = true
  AND (memory.kind IN $whole_kinds OR memory.source_type IN $source_types)
  AND (size($source_ids) = 0 OR memory.source_id IN $source_ids)
  AND (size($conversation_ids) = 0 OR memory.conversation_id IN $conversation_ids)
WITH memory, vector.similarity.cosine(memory.embedding, $embedding) AS score
ORDER BY score DESC, memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  .id, .kind, .source_type, .importance, .token_count,
  occurred_at: toString(memory.occurred_at),
  text: CASE WHEN size(memory.search_text) <= $longest THEN memory.search_text END,
  cosine: 2 * score - 1,
  by_vector: true
}) AS rows
