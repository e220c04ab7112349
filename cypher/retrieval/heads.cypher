CYPHER 25
// Some memories that were found, or the heads that take their places; no texts.
//
// $client_id  string  the client
// include heads
RETURN collect(memory {
  .id,
  // include head
}) AS rows
