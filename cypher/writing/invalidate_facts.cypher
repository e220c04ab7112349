CYPHER 25
// Ends facts that are true no longer: they stay, and hold no more.
//
// $client_id    string        whose facts
// $ids          list<string>  their ids
// $at           datetime      when that was said
// $now          datetime      now; ends what became true after it was said to be over
// $active_word  string        the scope word of what holds now
UNWIND $ids AS id
MATCH (fact:Memory {client_id: $client_id, id: id})
SET
  fact.locked = true,
  fact.active = false,
  fact.invalid_at = CASE WHEN $at > fact.valid_at THEN $at ELSE $now END,
  fact.scope_words = replace(fact.scope_words, $active_word, '')
RETURN count(*) AS written
