CYPHER 25
// What has become old, of all clients: runs by their end, trees by their root; recorded reads, which alone
// have a `found`, by their time.
CREATE INDEX run_ended IF NOT EXISTS
FOR (run:Run) ON (run.depth, run.ended_at);

CREATE INDEX read_time IF NOT EXISTS
FOR (access:Access) ON (access.at, access.found);
