CYPHER 25
// A client's summaries, newest first, each in its current version.
//
// $client_id  string        the client
// $types      list<string>  the source types; empty for all
// $since      datetime      not older than this
// $before     datetime      older than this
// $before_id  string        and, at that time, with a lower id
// $limit      int           the maximum number
MATCH (summary:Summary {client_id: $client_id})
WHERE summary.occurred_at >= $since AND summary.occurred_at <= $before
  // The index only holds nodes with an id: without this line it is not used.
  AND summary.id IS NOT NULL
  AND summary.active = true
  AND (size($types) = 0 OR summary.source_type IN $types)
  // With OR the index may be read twice, and whole.
  AND CASE WHEN summary.occurred_at = $before THEN summary.id < $before_id ELSE true END
WITH summary
// As in the index.
ORDER BY summary.client_id DESC, summary.occurred_at DESC, summary.id DESC
LIMIT $limit
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
