CYPHER 25
// The kind of a memory, and its tags.
//
// $client_id  string  the client
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
RETURN memory.kind AS kind, coalesce(memory.tags, []) AS tags
