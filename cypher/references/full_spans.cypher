CYPHER 25
// Some spans and summaries with their texts.
//
// $client_id  string        the client
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
WHERE memory.kind IN ['span', 'summary']
RETURN collect(memory {
  .id, .source_type, .source_id, .start_byte, .end_byte, .sha256, .token_count, .token_estimate,
  .importance, .recency, .tags, .metadata, .embedding_truncated, .text,
  occurred_at: toString(memory.occurred_at),
  created_at: toString(memory.created_at)
}) AS rows
