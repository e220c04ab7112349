CYPHER 25
// The active runs of a client past their deadline, longest first.
//
// $client_id  string    the client
// $now        datetime  now
// $limit      int       the maximum number
MATCH (run:Run {client_id: $client_id, status: 'active'})
USING INDEX run:Run(client_id, status, deadline)
WHERE run.deadline <= $now
WITH run
// As in the index.
ORDER BY run.client_id, run.status, run.deadline, run.id
LIMIT $limit
RETURN collect({client_id: run.client_id, id: run.id}) AS rows
