CYPHER 25
// The texts of some memories, and the names of their sessions.
//
// $client_id  string  the client
// include heads
OPTIONAL MATCH (session:Session {client_id: $client_id, id: memory.session_id})
RETURN collect(memory {
  .id, .text,
  session_external_id: session.external_id,
  // include head
}) AS rows
