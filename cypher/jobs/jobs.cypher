CYPHER 25
// A client's jobs, newest first.
//
// $client_id  string        the client
// $states     list<string>  the states
// $kinds      list<string>  the kinds; empty for all
// $before     datetime      created before this time
// $before_id  string        and, at that time, with a lower id
// $limit      int           the maximum number
MATCH (job:Job {client_id: $client_id})
USING INDEX job:Job(client_id, created_at, id)
WHERE job.created_at <= $before AND job.id IS NOT NULL // else no index is used
  AND job.state IN $states AND (size($kinds) = 0 OR job.kind IN $kinds)
  // With OR the index may be read twice, and whole.
  AND CASE WHEN job.created_at = $before THEN job.id < $before_id ELSE true END
WITH job
// As in the index.
ORDER BY job.client_id DESC, job.created_at DESC, job.id DESC
LIMIT $limit
RETURN
  job.id AS id,
  job.kind AS kind,
  job.key AS key,
  job.state AS state,
  job.attempts AS attempts,
  job.run_at AS run_at,
  job.created_at AS created_at,
  job.finished_at AS finished_at,
  job.error AS error
ORDER BY created_at DESC, id DESC
