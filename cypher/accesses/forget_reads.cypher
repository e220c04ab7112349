CYPHER 25
// Deletes some records of reads that belong to no conversation: expired ones, and those whose memories are
// all deleted.
//
// $client_id  string    the client
// $before     datetime  records from before this time have expired
// $limit      int       the batch size
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
