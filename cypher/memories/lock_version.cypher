CYPHER 25
// Locks a memory to be superseded, then reads whether it is still the head of its chain.
//
// $client_id  string  the client
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
SET memory.locked = true
WITH memory
RETURN
  memory.id AS id,
  memory.kind AS kind,
  coalesce(memory.version, 1) AS version,
  memory.created_at AS created_at,
  // The lock only protects the next version: further on, the chain may grow while it is read.
  COLLECT {
    MATCH (memory)<-[:SUPERSEDES]-(next:Memory {client_id: $client_id})
    RETURN next.id
  } AS superseded_by,
  COLLECT {
    MATCH path = (memory)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    RETURN newer.id
    ORDER BY length(path) DESC
    LIMIT 1
  } AS newest
