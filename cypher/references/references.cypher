CYPHER 25
// A client's references, newest first, each in its current version.
//
// $client_id  string        the client
// $types      list<string>  the types; empty for all
// $since      datetime      not older than this
// $before     datetime      older than this
// $before_id  string        and, at that time, with a lower id
// $tags       list<string>  the tags that it must have; empty for none
// $limit      int           the maximum number
MATCH (reference:Reference {client_id: $client_id})
WHERE reference.occurred_at >= $since AND reference.occurred_at <= $before
  // The index only holds nodes with an id: without this line it is not used.
  AND reference.id IS NOT NULL
  AND reference.active = true
  AND (size($types) = 0 OR reference.source_type IN $types)
  // include tagged(reference)
  // With OR the index may be read twice, and whole.
  AND CASE WHEN reference.occurred_at = $before THEN reference.id < $before_id ELSE true END
WITH reference
// As in the index.
ORDER BY reference.client_id DESC, reference.occurred_at DESC, reference.id DESC
LIMIT $limit
RETURN collect(reference {
  .id, .source_type, .source_id, .label, .description, .importance, .metadata, .tags, .span_id,
  .span_start_byte, .span_end_byte, .span_token_estimate, .version, .active, .token_count,
  .embedding_truncated, .content_sha256, .content_bytes, .content_tokens,
  occurred_at: toString(reference.occurred_at),
  expires_at: toString(reference.expires_at),
  created_at: toString(reference.created_at)
}) AS rows
