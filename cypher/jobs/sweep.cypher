CYPHER 25
// Removes jobs of any client that were done long ago; those given up stay.
//
// $before  datetime  done before when
// $limit   int       how many at once
MATCH (job:Job)
WHERE job.state = 'done' AND job.run_at < $before
WITH job
LIMIT $limit
DELETE job
RETURN count(*) AS written
