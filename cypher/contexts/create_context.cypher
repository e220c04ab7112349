CYPHER 25
// Creates a context without memories; one with this id already exists after a lost answer.
//
// $client_id              string    the client
// $id                     string    its id
// $max_tokens             int       its maximum length, the reserve included
// $reserved_for_response  int       the part of it that stays free
// $system_prompt          string?   its beginning
// $text_bytes             int       the length of its beginning in UTF-8
// $created_at             datetime  now
// $expires_at             datetime  when it expires
MERGE (context:Context {client_id: $client_id, id: $id})
ON CREATE SET
  context.max_tokens = $max_tokens,
  context.reserved_for_response = $reserved_for_response,
  context.system_prompt = $system_prompt,
  context.text_bytes = $text_bytes,
  context.created_at = $created_at,
  context.expires_at = $expires_at
RETURN count(*) AS written
