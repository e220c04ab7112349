CYPHER 25
// Reinforces facts that were stated again, and links them to their new sources.
//
// $client_id  string     the client
// $now        datetime   now; facts already marked with it were reinforced by this call; its answer was lost
// $rows       list<map>  {id, times, importance, source_ids, keywords, search_text, other_categories, tags, lasts,
// scope_words}
// `keywords`, `search_text` and `other_categories` are new values, null for no change; `tags` and `scope_words`
// are added. It expires at the later of `lasts` and its own time; null is for ever.
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
  fact.tags = CASE
    WHEN size(row.tags) = 0 THEN fact.tags
    ELSE coll.distinct(coalesce(fact.tags, []) + row.tags)
  END,
  fact.expires_at =
    CASE
      WHEN fact.expires_at IS NULL OR row.lasts <= fact.expires_at THEN fact.expires_at
      ELSE row.lasts
    END
WITH fact, row
CALL (fact, row) {
  UNWIND [fact] + COLLECT {
    MATCH (fact)<-[:PASSAGE_OF]-(passage:Passage {client_id: $client_id})
    RETURN passage
  } AS searched
  SET searched.scope_words = reduce(
    words = searched.scope_words, word IN row.scope_words |
    CASE WHEN words CONTAINS word THEN words ELSE words + ' ' + word END
  )
}
WITH fact, row
CALL (fact, row) {
  UNWIND row.source_ids AS source_id
  MATCH (source:Memory {client_id: $client_id, id: source_id})
  MERGE (fact)-[:DERIVED_FROM]->(source)
}
RETURN count(*) AS written
