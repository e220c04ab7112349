// A run with its balance, and the usage of the runs below it.
//
// $client_id  string    the client
// $now        datetime  now; an expired reservation does not count
.id, .client_id, .agent_type, .episode_id, .depth, .status, .outcome, .max_tokens, .max_time_ms,
.max_retries, .spent, .given, .retries, .retries_given, .retrievals, .writes,
parent_id: COLLECT {
  MATCH (parent:Run {client_id: $client_id})-[:SPAWNED]->(run)
  RETURN parent.id
}[0],
started_at: toString(run.started_at),
deadline: toString(run.deadline),
ended_at: toString(run.ended_at),
holds: COLLECT {
  // No label here: with it, the index of all clients' holds would be searched instead.
  MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
  WHERE hold.expires_at > $now
  RETURN hold.tokens
},
below: COLLECT {
  MATCH (run)(()-[:SPAWNED]->(:Run {client_id: $client_id})){1,4}(below:Run)
  RETURN below {.spent, .retries}
}
