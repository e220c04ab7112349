// The properties of a replacement that ranking and filters need; null where the memory was not replaced.
head: CASE WHEN size(chain) > 1 THEN memory {
  .id, .external_id, .kind, .role, .name, .conversation_id, .session_id, .idx, .importance,
  .token_count, .source_type, .source_id, .category, .scope,
  other_categories: coalesce(memory.other_categories, []),
  occurred_at: toString(memory.occurred_at),
  chain: chain
} END
