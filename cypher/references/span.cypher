CYPHER 25
// One span, without its text.
//
// $client_id  string  the client
// $id         string  its id
MATCH (span:Memory {client_id: $client_id, id: $id})
WHERE span:Span
RETURN collect(span {
  .id, .source_type, .source_id, .start_byte, .end_byte, .sha256, .token_count, .token_estimate,
  .importance, .recency, .tags, .metadata, .embedding_truncated,
  has_content: span.text <> '',
  occurred_at: toString(span.occurred_at),
  created_at: toString(span.created_at)
}) AS rows
