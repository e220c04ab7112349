CYPHER 25
// A run with its balance, and the usage of the runs below it.
//
// $client_id  string  the client
// $id         string  its id
MATCH (run:Run {client_id: $client_id, id: $id})
RETURN collect(run {
  // include stored_run
}) AS rows
