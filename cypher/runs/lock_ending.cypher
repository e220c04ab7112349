CYPHER 25
// Locks runs that are to end, in the given order, from the root down, and reads their remaining tokens; a
// locked run gets no new child.
//
// $client_id  string        the client
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (run:Run {client_id: $client_id, id: id})
SET run.locked = true
WITH run
RETURN collect(run {
  .id,
  .status,
  .max_tokens,
  .spent,
  .given,
  .max_retries,
  .retries,
  .retries_given,
  started_at: toString(run.started_at),
  deadline: toString(run.deadline),
  children: COLLECT {
    MATCH (run)-[:SPAWNED]->(child {client_id: $client_id})
    WHERE child.status = 'active'
    RETURN child.id ORDER BY child.id
  }
}) AS rows
