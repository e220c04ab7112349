CYPHER 25
// Finds expired records of reads of any client, and returns their clients.
//
// $before  datetime  records from before this time have expired
// $limit   int       the number of records examined
MATCH (access:Access)
WHERE access.at < $before AND access.found IS NOT NULL
WITH access.client_id AS client_id
LIMIT $limit
RETURN DISTINCT client_id
