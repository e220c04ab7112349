CYPHER 25
// Sets the content of a reference that had none.
//
// $client_id       string  the client
// $id              string  its id, locked by this transaction
// $content_sha256  string  the content's SHA-256
// $content_bytes   int     its length in UTF-8
// $content_tokens  int     its number of tokens
MATCH (reference:Memory {client_id: $client_id, id: $id})
SET
  reference.content_sha256 = $content_sha256,
  reference.content_bytes = $content_bytes,
  reference.content_tokens = $content_tokens
RETURN count(*) AS written
