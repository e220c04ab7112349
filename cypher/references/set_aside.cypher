CYPHER 25
// Locks the memories that hold the ids of spans to be registered, and gives them other ids within this
// transaction.
//
// $client_id  string     the client
// $rows       list<map>  {id, aside}
UNWIND $rows AS row
MATCH (memory:Memory {client_id: $client_id, id: row.id})
SET memory.locked = true
WITH memory, row
// A node that was deleted while this waited for the lock has no properties.
WHERE memory.kind IS NOT NULL
SET memory.id = row.aside
RETURN collect(memory {
  id: row.id,
  aside: row.aside,
  .kind,
  of_reference: EXISTS { (memory)-[:PART_OF]->(:Reference {client_id: $client_id}) },
  bytes: coalesce(memory.text_bytes, size(memory.text))
}) AS rows
