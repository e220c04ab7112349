CYPHER 25
// Locks memories whose names are found in this transaction and removes their marks; returns those that had one.
//
// $client_id  string        the client
// $ids        list<string>  the memories, in the order of their ids
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
SET memory.locked = true
WITH memory
WHERE memory.names_due = true
SET memory.names_due = null
RETURN collect(memory {.id}) AS rows
