CYPHER 25
// Locks a context that has not expired, then reads its chunks.
//
// $client_id  string    the client
// $id         string    its id
// $now        datetime  now
MATCH (context:Context {client_id: $client_id, id: $id})
SET context.locked = true
WITH context
// A context that was swept while this waited for the lock has no properties.
WHERE context.expires_at > $now
RETURN
  context.id AS id,
  context.max_tokens AS max_tokens,
  context.reserved_for_response AS reserved_for_response,
  context.system_prompt AS system_prompt,
  context.created_at AS created_at,
  context.expires_at AS expires_at,
  COLLECT {
    MATCH (context)-[holding:HOLDS]->(memory:Memory {client_id: $client_id})
    RETURN {
      id: memory.id,
      position: holding.position,
      priority: holding.priority,
      content: holding.content,
      tokens: holding.tokens
    }
    ORDER BY holding.position
  } AS held
