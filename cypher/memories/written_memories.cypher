CYPHER 25
// Which of some memories are written already.
//
// $client_id  string        whose memories
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
RETURN collect(memory {.id}) AS rows
