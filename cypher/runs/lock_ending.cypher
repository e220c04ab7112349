CYPHER 25
// Locks runs that are to end in the order in which they are named, which is from the root down, and reads
// what they have left; no run is started under one that is locked.
//
// $client_id  string        whose runs
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (run:Run {client_id: $client_id, id: id})
SET run.locked = true
WITH run
RETURN collect(run {
  .id,
  .status,
  .outcome,
  .max_tokens,
  .spent,
  .given,
  .max_retries,
  .retries,
  .retries_given,
  deadline: toString(run.deadline),
  children: COLLECT {
    MATCH (run)-[:SPAWNED]->(child {client_id: $client_id})
    WHERE child.status = 'active'
    RETURN child.id ORDER BY child.id
  }
}) AS rows
