CYPHER 25
// The texts of some spans, and their hashes as they are stored.
//
// $spans  list<map>  {client_id, id}: the spans
UNWIND $spans AS one
MATCH (span:Memory {client_id: one.client_id, id: one.id})
WHERE span.text IS NOT NULL AND span.sha256 IS NOT NULL
RETURN collect(span {.id, .text, .sha256}) AS rows
