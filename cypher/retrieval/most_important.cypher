CYPHER 25
// The most important of the memories of some sources that hold, the newer first among equals.
//
// $client_id  string   whose memories
// $timed      boolean  whether the times below decide, not what holds now
// $limit      int      how many
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
