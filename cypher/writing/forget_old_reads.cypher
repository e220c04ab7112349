CYPHER 25
// Deletes some of a client's recorded reads that have become old.
//
// $client_id  string    whose records
// $before     datetime  what was asked before then is old
// $limit      int       how many at once
MATCH (access:Access {client_id: $client_id, run_id: ''})
WHERE access.at < $before AND access.id IS NOT NULL // else no index is used
WITH access
LIMIT $limit
DETACH DELETE access
RETURN count(*) AS written
