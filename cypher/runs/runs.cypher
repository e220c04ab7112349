CYPHER 25
// A client's runs, the last that were started first.
//
// $client_id  string        whose runs
// $statuses   list<string>  of which statuses
// $before     datetime      started before when
// $before_id  string        and, of those started then, with a lower id
// $limit      int           how many
MATCH (run:Run {client_id: $client_id})
WHERE run.id IS NOT NULL // else no index is used
  AND run.status IN $statuses
  AND (run.started_at < $before OR (run.started_at = $before AND run.id < $before_id))
WITH run
ORDER BY run.started_at DESC, run.id DESC
LIMIT $limit
RETURN collect(run {
  // include stored_run
}) AS rows
