CYPHER 25
// The searched texts of some memories.
//
// $client_id  string        the client
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
RETURN collect(memory {.id, text: memory.search_text}) AS rows
