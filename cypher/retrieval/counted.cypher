CYPHER 25
// Counts the active memories of some sources.
//
// $client_id  string   the client
// $timed      boolean  whether the times below apply, not the current state
// include listing
  // include of_sources
  AND (NOT $timed OR (true
    // include held_then
  ))
RETURN count(*) AS memories
