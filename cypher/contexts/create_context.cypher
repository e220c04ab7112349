CYPHER 25
// A context that holds no memory yet; one with this id is there after a lost answer.
//
// $client_id              string    whose context
// $id                     string    its id
// $max_tokens             int       how long it may get, the reserve included
// $reserved_for_response  int       how much of that stays free
// $system_prompt          string?   what it begins with
// $created_at             datetime  now
// $expires_at             datetime  when it ends
MERGE (context:Context {client_id: $client_id, id: $id})
ON CREATE SET
  context.max_tokens = $max_tokens,
  context.reserved_for_response = $reserved_for_response,
  context.system_prompt = $system_prompt,
  context.created_at = $created_at,
  context.expires_at = $expires_at
RETURN count(*) AS written
