CYPHER 25
// A reference whose content is about to be set, and its newer versions.
//
// $client_id  string  the client
// $id         string  its id
MATCH (reference:Memory {client_id: $client_id, id: $id})
WHERE reference:Reference
RETURN
  reference {
    .id, .source_type, .source_id, .label, .description, .importance, .metadata, .tags, .span_id,
    .span_start_byte, .span_end_byte, .span_token_estimate, .version, .active, .token_count,
    .embedding_truncated, .content_sha256, .content_bytes, .content_tokens, .conversation_id,
    occurred_at: toString(reference.occurred_at),
    expires_at: toString(reference.expires_at),
    created_at: toString(reference.created_at)
  } AS reference,
  COLLECT {
    MATCH (reference)<-[:SUPERSEDES]-(next:Memory {client_id: $client_id})
    RETURN next.id
  } AS superseded_by,
  COLLECT {
    MATCH path =
      (reference)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    RETURN newer.id
    ORDER BY length(path) DESC
    LIMIT 1
  } AS newest
