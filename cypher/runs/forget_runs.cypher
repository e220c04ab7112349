CYPHER 25
// Deletes some runs of a tree that has ended, leaves first, the root last.
//
// $client_id  string    the client
// $id         string    the id of the tree's root
// $before     datetime  only of a tree that ended before then
// $limit      int       the batch size
MATCH (root:Run {client_id: $client_id, id: $id})
SET root.locked = true
WITH root
WHERE root.status <> 'active' AND root.ended_at < $before
  AND NOT EXISTS {
    MATCH (root)(()-[:SPAWNED]->(:Run {client_id: $client_id})){1,}(below:Run)
    WHERE below.status = 'active'
  }
MATCH (root)(()-[:SPAWNED]->(:Run {client_id: $client_id})){0,}(run:Run)
// A run with recorded operations stays, so that none is left without its run.
WHERE NOT EXISTS { (run)-[:SPAWNED]->(:Run {client_id: $client_id}) }
  AND NOT EXISTS { (run)-[:PERFORMED]->(:Access {client_id: $client_id}) }
WITH run
LIMIT $limit
CALL (run) {
  MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
  DETACH DELETE hold
  RETURN count(*) AS holds
}
DETACH DELETE run
RETURN count(*) AS written
