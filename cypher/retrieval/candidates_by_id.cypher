CYPHER 25
// Some memories as candidates, with their sources.
//
// $client_id  string        the client
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
RETURN collect(memory {
  // include candidate
  passes: true
}) AS rows
