CYPHER 25
// Ends facts that are true no longer: they stay, and hold no more.
//
// $client_id    string        whose facts
// $ids          list<string>  their ids
// $at           datetime      when that was said
// $now          datetime      now; ends what became true after it was said to be over, unless it begins later
// $active_word  string        the scope word of what holds now
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
// A newer version may move invalid_at yet; since when this was known, and what it said, stays.
SET fact.invalidated_from = fact.invalid_at, fact.invalidated_at = $now
RETURN count(*) AS written
