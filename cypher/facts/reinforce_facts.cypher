CYPHER 25
// Notes that facts were said again, and joins them to what they come from this time too.
//
// $client_id  string     whose facts
// $now        datetime   now: what was noted at this moment was noted by this call, whose answer got lost
// $rows       list<map>  {id, times, importance, source_ids, keywords, search_text, other_categories, scope_words}
// The last four hold what the fact has got by it: null, or no scope words, where that is nothing.
UNWIND $rows AS row
MATCH (fact:Memory {client_id: $client_id, id: row.id})
SET
  fact.reinforced = coalesce(fact.reinforced, 0)
    + CASE WHEN fact.reinforced_at = $now THEN 0 ELSE row.times END,
  fact.reinforced_at = $now,
  fact.importance =
    CASE WHEN row.importance > fact.importance THEN row.importance ELSE fact.importance END,
  fact.keywords = coalesce(row.keywords, fact.keywords),
  fact.search_text = coalesce(row.search_text, fact.search_text),
  fact.other_categories = coalesce(row.other_categories, fact.other_categories),
  fact.scope_words = reduce(
    words = fact.scope_words, word IN row.scope_words |
    CASE WHEN words CONTAINS word THEN words ELSE words + ' ' + word END
  )
WITH fact, row
CALL (fact, row) {
  UNWIND row.source_ids AS source_id
  MATCH (source:Memory {client_id: $client_id, id: source_id})
  MERGE (fact)-[:DERIVED_FROM]->(source)
}
RETURN count(*) AS written
