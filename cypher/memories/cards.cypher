CYPHER 25
// The properties of the cards of some memories.
//
// $client_id           string  the client
// $snippet_characters  int     the number of characters of a text to return
// include heads
RETURN collect(memory {
  .id, .kind, .source_type, .source_id, .importance, .token_count, .label, .description, .metadata,
  .platform, .participant_count, .message_count, .key_points, .sentiment, .plan_type,
  .total_nodes, .completed_nodes, .pending_nodes, .failed_nodes, .key_milestones, .current_phase,
  .span_id, .span_start_byte, .span_end_byte, .span_token_estimate, .content_tokens,
  .start_byte, .end_byte, .tags, .recency, .token_estimate, .role, .name, .title, .surprise,
  .category, .scope, .version, .content_span_ids,
  occurred_at: toString(memory.occurred_at),
  last_activity_at: toString(memory.last_activity_at),
  start_at: toString(memory.start_at),
  end_at: toString(memory.end_at),
  beginning: left(coalesce(memory.text, memory.search_text, ''), $snippet_characters),
  // include head
}) AS rows
