CYPHER 25
// A client's runs, the latest start first.
//
// $client_id  string        the client
// $statuses   list<string>  the statuses
// $before     datetime      started before this time
// $before_id  string        and, at that time, with a lower id
// $limit      int           the maximum number
MATCH (run:Run {client_id: $client_id})
USING INDEX run:Run(client_id, started_at, id)
WHERE run.started_at <= $before AND run.id IS NOT NULL // else no index is used
  AND run.status IN $statuses
  // With OR the index may be read twice, and whole.
  AND CASE WHEN run.started_at = $before THEN run.id < $before_id ELSE true END
WITH run
// As in the index.
ORDER BY run.client_id DESC, run.started_at DESC, run.id DESC
LIMIT $limit
RETURN collect(run {
  // include stored_run
}) AS rows
