CYPHER 25
// Counts the jobs of any client that came due before a time and were not begun.
//
// $before  datetime  due before this time
MATCH (job:Job)
WHERE job.state = 'queued' AND job.run_at <= $before
RETURN count(job) AS jobs, min(job.run_at) AS first
