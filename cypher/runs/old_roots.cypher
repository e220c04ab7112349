CYPHER 25
// Runs of any client at the root of a tree that has ended before a time and that nothing active is part of,
// longest ago first.
//
// $before  datetime  ended before when
// $limit   int       how many
MATCH (root:Run)
WHERE root.depth = 0 AND root.ended_at < $before AND root.status <> 'active'
WITH root
ORDER BY root.ended_at
WITH root, root.client_id AS client_id
WHERE NOT EXISTS {
  MATCH (root)(()-[:SPAWNED]->(:Run {client_id: client_id})){1,}(below:Run)
  WHERE below.status = 'active'
}
RETURN client_id, root.id AS id
LIMIT $limit
