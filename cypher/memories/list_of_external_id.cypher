CYPHER 25
// The memories to which the caller gave an id, one in each conversation at most, by their time.
//
// $client_id    string         the client
// $external_id  string         the caller's id
// $kinds        list<string>   the kinds that are listed
// $actives      list<boolean>  the values of `active` that are listed
// $since        datetime       the first occurred_at that passes
// $until        datetime       the upper bound of occurred_at, exclusive
// $newest       boolean        whether the latest is the first
// $place        datetime       occurred_at of the last row of the page before
// $place_id     string         its id
// $limit        int            the maximum number
MATCH (memory:Memory {client_id: $client_id, external_id: $external_id})
WHERE memory.kind IN $kinds AND memory.active IN $actives
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  AND CASE WHEN memory.occurred_at = $place THEN memory.id > $place_id ELSE true END
  // include list_conditions
WITH memory
ORDER BY
  CASE WHEN $newest THEN memory.occurred_at END DESC,
  CASE WHEN NOT $newest THEN memory.occurred_at END,
  memory.id
LIMIT $limit
// include first_texts
RETURN collect({
  metadata: memory.metadata,
  memory: memory {
    // include memory_map
  }
}) AS rows
