CYPHER 25
// Root runs of any client whose tree ended before a time and has no active run, longest ago first.
//
// $before  datetime  ended before this time
// $limit   int       the maximum number
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
