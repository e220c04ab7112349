CYPHER 25
// Notes on a reference what its content is, where it had none.
//
// $client_id       string  whose reference
// $id              string  its id, locked by this transaction
// $content_sha256  string  the content's SHA-256
// $content_bytes   int     how long it is in UTF-8
// $content_tokens  int     how many tokens it has
MATCH (reference:Memory {client_id: $client_id, id: $id})
SET
  reference.content_sha256 = $content_sha256,
  reference.content_bytes = $content_bytes,
  reference.content_tokens = $content_tokens
RETURN count(*) AS written
