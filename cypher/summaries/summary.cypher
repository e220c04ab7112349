CYPHER 25
// One version of a summary.
//
// $client_id  string  the client
// $id         string  its id
MATCH (summary:Memory {client_id: $client_id, id: $id})
WHERE summary:Summary
RETURN collect(summary {
  .id, .text, .token_count, .version, .active, .importance, .platform, .participant_count,
  .message_count, .sentiment, .plan_type, .current_phase, .total_nodes, .completed_nodes,
  .pending_nodes, .failed_nodes, .key_milestones, .key_points, .topics, .content_span_ids,
  .embedding_truncated,
  type: replace(summary.source_type, '_summary', ''),
  target_id: summary.source_id,
  last_activity_at: toString(summary.last_activity_at),
  occurred_at: toString(summary.occurred_at),
  created_at: toString(summary.created_at)
}) AS rows
