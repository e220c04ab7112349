CYPHER 25
// The given memories that are already written.
//
// $client_id  string        the client
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
RETURN collect(memory {.id}) AS rows
