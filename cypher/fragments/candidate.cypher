// The properties of a candidate.
//
// $longest  int  the number of characters of a searched text to return, with its source; 0 for neither
.id, .external_id, .kind, .role, .name, .conversation_id, .session_id, .idx, .importance, .token_count,
occurred_at: toString(memory.occurred_at),
source: CASE WHEN $longest > 0 THEN memory {
  .source_type, .source_id, .start_byte, .end_byte, .sha256,
  text: CASE WHEN size(memory.search_text) <= $longest THEN memory.search_text END
} END,
