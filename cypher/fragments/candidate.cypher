// The properties of a candidate.
//
// $longest  int  the number of characters of a searched text to return, of a span with its place; 0 for neither
.id, .external_id, .kind, .role, .name, .conversation_id, .session_id, .idx, .importance, .token_count,
occurred_at: toString(memory.occurred_at),
text: CASE WHEN $longest > 0 AND size(memory.search_text) <= $longest THEN memory.search_text ELSE '' END,
span: CASE WHEN $longest > 0 AND memory:Span THEN memory {
  .source_type, .source_id, .start_byte, .end_byte, .sha256
} END,
