CYPHER 25
// The spans of a reference's content, in order.
//
// $client_id  string  the client
// $id         string  its id
MATCH (reference:Memory {client_id: $client_id, id: $id})
MATCH (reference)<-[:PART_OF]-(span:Span {client_id: $client_id})
WITH span
ORDER BY span.start_byte
RETURN collect(span {
  .id, .source_type, .source_id, .start_byte, .end_byte, .sha256, .token_count, .token_estimate,
  .importance, .recency, .tags, .metadata, .embedding_truncated,
  has_content: span.text <> '',
  occurred_at: toString(span.occurred_at),
  created_at: toString(span.created_at)
}) AS rows
