CYPHER 25
// Runs of any client with expired reservations.
//
// $now    datetime  now
// $limit  int       the number of reservations examined
MATCH (hold:Hold)
WHERE hold.expires_at <= $now
WITH hold.client_id AS client_id, hold.run_id AS id
LIMIT $limit
RETURN DISTINCT client_id, id
