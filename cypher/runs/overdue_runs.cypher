CYPHER 25
// Runs of any client whose time is over and that nobody has ended, longest first.
//
// $now    datetime  now
// $limit  int       how many
MATCH (run:Run)
WHERE run.status = 'active' AND run.deadline <= $now
RETURN run.client_id AS client_id, run.id AS id
ORDER BY run.deadline
LIMIT $limit
