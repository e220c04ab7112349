CYPHER 25
// Invalidates facts that are no longer true: they stay, but are not active.
//
// $client_id    string        the client
// $ids          list<string>  their ids
// $at           datetime      when they stopped being true
// $now          datetime      now; the end of facts that became true after that time, unless they begin later
// $active_word  string        the scope word of active memories
UNWIND $ids AS id
MATCH (fact:Memory {client_id: $client_id, id: id})
SET
  fact.locked = true,
  fact.active = false,
  fact.invalid_at = CASE
    WHEN $at > fact.valid_at THEN $at
    WHEN $now > fact.valid_at THEN $now
    ELSE fact.valid_at
  END,
  fact.scope_words = replace(fact.scope_words, $active_word, '')
// A newer version may still move invalid_at; these two keep the original statement and its time.
SET fact.invalidated_from = fact.invalid_at, fact.invalidated_at = $now
RETURN count(*) AS written
