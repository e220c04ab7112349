CYPHER 25
// Whose recorded reads, of any client, have become old.
//
// $before  datetime  what was asked before then is old
// $limit   int       how many records are looked at
MATCH (access:Access)
WHERE access.at < $before AND access.found IS NOT NULL
WITH access.client_id AS client_id
LIMIT $limit
RETURN DISTINCT client_id
