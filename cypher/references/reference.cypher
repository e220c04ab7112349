CYPHER 25
// One version of a reference.
//
// $client_id  string  the client
// $id         string  its id
MATCH (reference:Memory {client_id: $client_id, id: $id})
WHERE reference:Reference
RETURN collect(reference {
  .id, .source_type, .source_id, .label, .description, .importance, .metadata, .tags, .span_id,
  .span_start_byte, .span_end_byte, .span_token_estimate, .version, .active, .token_count,
  .embedding_truncated, .content_sha256, .content_bytes, .content_tokens,
  occurred_at: toString(reference.occurred_at),
  expires_at: toString(reference.expires_at),
  created_at: toString(reference.created_at)
}) AS rows
