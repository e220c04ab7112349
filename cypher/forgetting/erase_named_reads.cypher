CYPHER 25
// Deletes some of the reads outside of runs whose question mentions a name.
//
// $client_id  string  the client
// $word       string  a pattern for the name as a whole word
// $limit      int     the maximum number of reads
MATCH (access:Access {client_id: $client_id, run_id: ''})
WHERE access.at IS NOT NULL AND access.id IS NOT NULL // else no index is used
  AND access.question =~ $word
WITH access
LIMIT $limit
DETACH DELETE access
RETURN count(*) AS written
