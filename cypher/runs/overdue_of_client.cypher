CYPHER 25
// The active runs of a client whose time is over, longest first.
//
// $client_id  string    whose runs
// $now        datetime  now
// $limit      int       how many
MATCH (run:Run {client_id: $client_id, status: 'active'})
WHERE run.deadline <= $now
WITH run
ORDER BY run.deadline, run.id
LIMIT $limit
RETURN collect({client_id: run.client_id, id: run.id}) AS rows
