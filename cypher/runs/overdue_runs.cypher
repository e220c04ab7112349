CYPHER 25
// Runs of any client past their deadline that are not ended, longest first.
//
// $now    datetime  now
// $limit  int       the maximum number
MATCH (run:Run)
WHERE run.status = 'active' AND run.deadline <= $now
RETURN run.client_id AS client_id, run.id AS id
// As in the index.
ORDER BY run.status, run.deadline
LIMIT $limit
