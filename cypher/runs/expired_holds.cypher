CYPHER 25
// Runs of any client with holds that have expired; they count no more since they have.
//
// $now    datetime  now
// $limit  int       how many holds are looked at
MATCH (hold:Hold)
WHERE hold.expires_at <= $now
WITH hold.client_id AS client_id, hold.run_id AS id
LIMIT $limit
RETURN DISTINCT client_id, id
