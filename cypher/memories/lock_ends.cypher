CYPHER 25
// Locks the memories at the ends of new links, in one order, and tells which of them are superseded: a new
// version has the links of the one before, which are complete once this holds the lock.
//
// $client_id  string        the client
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
WITH memory
ORDER BY memory.id
SET memory.locked = true
WITH memory
// A node that was deleted while this waited for the lock has no properties.
WHERE memory.kind IS NOT NULL
RETURN collect(memory {
  .id,
  newest: COLLECT {
    MATCH path = (memory)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
    RETURN newer.id
    ORDER BY length(path) DESC
    LIMIT 1
  }
}) AS rows
