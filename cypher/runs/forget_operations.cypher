CYPHER 25
// Deletes some recorded operations of a run tree, unless one of its runs is active; the memories that they
// returned or wrote stay.
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
MATCH (run)-[:PERFORMED]->(access:Access {client_id: $client_id})
WITH access
LIMIT $limit
DETACH DELETE access
RETURN count(*) AS written
