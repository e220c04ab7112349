CYPHER 25
// Counts the jobs of any client by state.
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
