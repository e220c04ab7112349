CYPHER 25
// The clients with expired records of reads, among the reads of any client.
//
// $before  datetime  records from before this time have expired
// $limit   int       the number of records examined
MATCH (access:Access)
WHERE access.at < $before AND access.found IS NOT NULL
WITH access.client_id AS client_id
LIMIT $limit
RETURN DISTINCT client_id
