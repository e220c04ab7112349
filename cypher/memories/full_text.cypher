CYPHER 25
// A memory's text, and the spans of its content if it has any.
//
// $client_id  string  the client
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
RETURN
  memory.text AS text,
  memory.content_sha256 AS content_sha256,
  COLLECT {
    MATCH (span:Span {client_id: $client_id})-[:PART_OF]->(memory)
    WHERE memory.content_sha256 IS NOT NULL
    RETURN span {.id, .start_byte, .end_byte, .text}
    ORDER BY span.start_byte, span.end_byte
  } AS spans
