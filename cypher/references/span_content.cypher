CYPHER 25
// A span's text, empty if it has none.
//
// $client_id  string  the client
// $id         string  its id
MATCH (span:Memory {client_id: $client_id, id: $id})
WHERE span:Span
RETURN collect(span {.id, .text, .sha256, .token_count, .token_estimate}) AS rows
