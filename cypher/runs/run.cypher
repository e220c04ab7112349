CYPHER 25
// A run as it stands.
//
// $client_id  string  whose run
// $id         string  its id
MATCH (run:Run {client_id: $client_id, id: $id})
RETURN collect(run {
  // include stored_run
}) AS rows
