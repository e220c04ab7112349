CYPHER 25
// One memory as the filters of a question see it; no row if there is no such memory.
//
// $client_id  string  the client
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
RETURN memory {
  .id, .external_id, .kind, .conversation_id, .active,
  occurred_at: toString(memory.occurred_at),
  tags: coalesce(memory.tags, []),
  passes: memory.client_id = $client_id
    // include held_then
  ,
  newer: COLLECT {
    MATCH path = (memory)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    WITH newer, length(path) AS steps
    ORDER BY steps DESC
    LIMIT 1
    RETURN newer.id
  }
} AS memory
