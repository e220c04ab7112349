CYPHER 25
// Deletes some records of reads that belong to no conversation: those that have become old, and those whose
// memories are all gone.
//
// $client_id  string    whose records
// $before     datetime  what was asked before then is old
// $limit      int       how many at once
MATCH (access:Access {client_id: $client_id, run_id: ''})
WHERE access.at IS NOT NULL AND access.id IS NOT NULL // else no index is used
  AND (
    access.at < $before
    OR (
      access.conversation_id IS NULL AND access.shown > 0
      AND NOT EXISTS { (access)-[:RETURNED]->(:Memory {client_id: $client_id}) }
    )
  )
WITH access
LIMIT $limit
DETACH DELETE access
RETURN count(*) AS written
