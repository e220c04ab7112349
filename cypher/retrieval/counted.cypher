CYPHER 25
// How many memories of some sources hold.
//
// $client_id  string   whose memories
// $timed      boolean  whether the times below decide, not what holds now
// include listing
  // include of_sources
  AND (NOT $timed OR (true
    // include held_then
  ))
RETURN count(*) AS memories
