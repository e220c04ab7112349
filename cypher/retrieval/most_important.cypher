CYPHER 25
// The most important active memories of some sources; ties: the newer first.
//
// $client_id  string   the client
// $timed      boolean  whether the times below apply, not the current state
// $limit      int      the maximum number
// include listing
  // include of_sources
  AND (NOT $timed OR (true
    // include held_then
  ))
WITH memory
ORDER BY memory.importance DESC, memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  // include listed
}) AS rows
