// The properties of a candidate.
//
// $longest  int  up to how many characters a searched text comes along, with its source; 0 for neither
.id, .external_id, .kind, .role, .name, .conversation_id, .session_id, .idx, .importance, .token_count,
occurred_at: toString(memory.occurred_at),
source_type: CASE WHEN $longest > 0 THEN memory.source_type ELSE '' END,
source_id: CASE WHEN $longest > 0 THEN memory.source_id ELSE '' END,
start_byte: CASE WHEN $longest > 0 THEN memory.start_byte END,
end_byte: CASE WHEN $longest > 0 THEN memory.end_byte END,
sha256: CASE WHEN $longest > 0 THEN memory.sha256 END,
text: CASE WHEN $longest > 0 AND size(memory.search_text) <= $longest THEN memory.search_text END,
