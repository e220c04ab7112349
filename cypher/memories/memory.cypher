CYPHER 25
// One memory with all properties; those that it does not have are null.
//
// $client_id  string    the client
// $id         string    its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
RETURN
  memory.metadata AS metadata,
  memory {
    // include memory_map
  } AS memory
