CYPHER 25
// Deletes some of the runs of a tree that has ended, those first that nothing is below of, the root last.
//
// $client_id  string    whose run
// $id         string    the id of the tree's root
// $before     datetime  only of a tree that ended before then
// $limit      int       how many at once
MATCH (root:Run {client_id: $client_id, id: $id})
SET root.locked = true
WITH root
WHERE root.status <> 'active' AND root.ended_at < $before
  AND NOT EXISTS {
    MATCH (root)(()-[:SPAWNED]->(:Run {client_id: $client_id})){1,}(below:Run)
    WHERE below.status = 'active'
  }
MATCH (root)(()-[:SPAWNED]->(:Run {client_id: $client_id})){0,}(run:Run)
// What is still recorded of a run keeps it: it is not to be left behind.
WHERE NOT EXISTS { (run)-[:SPAWNED]->() } AND NOT EXISTS { (run)-[:PERFORMED]->() }
WITH run
LIMIT $limit
CALL (run) {
  MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
  DETACH DELETE hold
  RETURN count(*) AS holds
}
DETACH DELETE run
RETURN count(*) AS written
