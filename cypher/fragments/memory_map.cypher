// All properties of a memory but its metadata; those that it does not have are null.
//
// $client_id  string    the client
// $beginning  datetime  the value for no lower bound
// $end        datetime  the value for no upper bound
.id, .kind, .text, .token_count, .importance, .active, .source_type, .external_id,
.embedding_truncated, .idx, .position, .role, .name, .version,
.label, .description, .span_id, .span_start_byte, .span_end_byte, .span_token_estimate,
.content_sha256, .content_bytes, .content_tokens,
.platform, .participant_count, .message_count, .sentiment, .plan_type, .current_phase,
.total_nodes, .completed_nodes, .pending_nodes, .failed_nodes, .key_milestones, .key_points,
.topics, .content_span_ids,
.start_byte, .end_byte, .sha256, .token_estimate, .tags, .recency,
.keywords, .other_categories, .reinforced,
.title, .surprise, .stability, .difficulty, .fsrs_state, .fsrs_step,
source_id: nullIf(memory.source_id, ''),
conversation_id: nullIf(memory.conversation_id, ''),
session_id: nullIf(memory.session_id, ''),
session_external_id: COLLECT {
  MATCH (session:Session {client_id: $client_id, id: memory.session_id})
  RETURN session.external_id
}[0],
category: nullIf(memory.category, ''),
scope: nullIf(memory.scope, ''),
occurred_at: toString(memory.occurred_at),
// A span without content was never valid, so it begins at the end of time.
valid_at: toString(nullIf(nullIf(memory.valid_at, $beginning), $end)),
invalid_at: toString(nullIf(memory.invalid_at, $end)),
created_at: toString(memory.created_at),
superseded_at: toString(nullIf(memory.superseded_at, $end)),
last_activity_at: toString(memory.last_activity_at),
expires_at: toString(memory.expires_at),
reinforced_at: toString(memory.reinforced_at),
start_at: toString(memory.start_at),
end_at: toString(memory.end_at),
last_reviewed_at: toString(memory.last_reviewed_at),
consolidated_at: toString(memory.consolidated_at)
