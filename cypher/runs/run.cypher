CYPHER 25
// A run as it stands, with what the runs below it have used.
//
// $client_id  string    whose run
// $id         string    its id
// $now        datetime  now: a hold that has expired counts no more
MATCH (run:Run {client_id: $client_id, id: $id})
OPTIONAL MATCH (parent:Run {client_id: $client_id})-[:SPAWNED]->(run)
RETURN
  run.id AS id,
  run.client_id AS client_id,
  run.agent_type AS agent_type,
  run.episode_id AS episode_id,
  parent.id AS parent_id,
  run.depth AS depth,
  run.status AS status,
  run.outcome AS outcome,
  run.started_at AS started_at,
  run.deadline AS deadline,
  run.ended_at AS ended_at,
  run.max_tokens AS max_tokens,
  run.max_time_ms AS max_time_ms,
  run.max_retries AS max_retries,
  run.spent AS spent,
  run.given AS given,
  run.returned AS returned,
  run.retries AS retries,
  run.retries_given AS retries_given,
  run.retrievals AS retrievals,
  run.writes AS writes,
  COLLECT {
    // Without its label: with it the index of all clients' holds is searched instead.
    MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
    WHERE hold.expires_at > $now
    RETURN hold.tokens
  } AS holds,
  COLLECT {
    MATCH (run)(()-[:SPAWNED]->(:Run {client_id: $client_id})){1,4}(below:Run)
    RETURN below {.spent, .retries}
  } AS below
