CYPHER 25
// Some memories as candidates.
//
// $client_id  string        the client
// $ids        list<string>  their ids
// $unscored   list<string>  those of them whose cosine is wanted
// $vectors    list<map>     {place, vector}: the question's vectors, none or several
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
RETURN collect(memory {
  // include candidate
  cosine: CASE WHEN id IN $unscored THEN
    // include exact_cosine
  END
}) AS rows
