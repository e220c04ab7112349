CYPHER 25
// How many jobs of any client are in each of these states.
//
// $states  list<string>  the states
UNWIND $states AS state
CALL (state) {
  MATCH (job:Job)
  WHERE job.state = state AND job.run_at IS NOT NULL
  RETURN count(job) AS jobs
}
RETURN state, jobs
ORDER BY state
