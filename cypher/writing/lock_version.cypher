CYPHER 25
// Locks a memory that is to be superseded, then reads whether it is still the head of its chain.
//
// $client_id  string  whose memory
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
SET memory.locked = true
WITH memory
RETURN
  memory.id AS id,
  memory.kind AS kind,
  coalesce(memory.version, 1) AS version,
  COLLECT {
    MATCH (memory)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    WHERE NOT EXISTS { (newer)<-[:SUPERSEDES]-(:Memory {client_id: $client_id}) }
    RETURN newer.id
  } AS heads
