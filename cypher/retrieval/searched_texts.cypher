CYPHER 25
// The searched texts of some memories.
//
// $client_id  string        the client
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
RETURN collect(memory {.id, text: coalesce(memory.search_text, memory.text, '')}) AS rows
