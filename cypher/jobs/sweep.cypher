CYPHER 25
// Removes jobs of any client that were done long ago; jobs that were given up stay.
//
// $before  datetime  done before this time
// $limit   int       the batch size
MATCH (job:Job)
WHERE job.state = 'done' AND job.run_at < $before
WITH job
LIMIT $limit
DELETE job
RETURN count(*) AS written
