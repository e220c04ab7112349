CYPHER 25
// The texts of some memories, as they are shown.
//
// $client_id  string        whose memories
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
RETURN collect(memory {.id, .text}) AS rows
