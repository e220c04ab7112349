CYPHER 25
// Counts the memories to which the caller gave an id.
//
// $client_id    string         the client
// $external_id  string         the caller's id
// $kinds        list<string>   the kinds that are listed
// $actives      list<boolean>  the values of `active` that are listed
// $since        datetime       the first occurred_at that passes
// $until        datetime       the upper bound of occurred_at, exclusive
MATCH (memory:Memory {client_id: $client_id, external_id: $external_id})
WHERE memory.kind IN $kinds AND memory.active IN $actives
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  // include list_conditions
RETURN count(*) AS memories
