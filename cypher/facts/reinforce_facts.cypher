CYPHER 25
// Reinforces facts that were stated again, and links them to their new sources.
//
// $client_id  string     the client
// $now        datetime   now; facts already marked with it were reinforced by this call; its answer was lost
// $rows       list<map>  {id, times, importance, source_ids, keywords, search_text, other_categories, category_words,
// tags, tag_words, lasts}
// `keywords`, `search_text` and `other_categories` are new values, null for no change; `category_words`, `tags` and
// `tag_words` are added. All versions share the tags and the expiry, which is the later of `lasts` and its own; null
// is for ever.
UNWIND $rows AS row
MATCH (fact:Memory {client_id: $client_id, id: row.id})
CALL (fact) {
  MATCH (fact)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(version:Memory)
  WITH DISTINCT version
  // Against a change of the annotations, before these are read.
  SET version.locked = true
  RETURN collect(version) AS versions
}
SET
  fact.reinforced = coalesce(fact.reinforced, 0)
    + CASE WHEN fact.reinforced_at = $now THEN 0 ELSE row.times END,
  fact.reinforced_at = $now,
  fact.importance =
    CASE WHEN row.importance > fact.importance THEN row.importance ELSE fact.importance END,
  fact.keywords = coalesce(row.keywords, fact.keywords),
  fact.search_text = coalesce(row.search_text, fact.search_text),
  fact.other_categories = coalesce(row.other_categories, fact.other_categories)
WITH fact, row, versions
CALL (fact, row, versions) {
  UNWIND versions AS version
  SET
    version.tags = CASE
      WHEN size(row.tags) = 0 THEN version.tags
      ELSE coll.distinct(coalesce(version.tags, []) + row.tags)
    END,
    version.expires_at = CASE
      WHEN version.expires_at IS NULL OR row.lasts <= version.expires_at THEN version.expires_at
      ELSE row.lasts
    END
  WITH version, row.tag_words + CASE WHEN version = fact THEN row.category_words ELSE [] END AS words
  UNWIND [version] + COLLECT {
    MATCH (version)<-[:PASSAGE_OF]-(passage:Passage {client_id: $client_id})
    RETURN passage
  } AS searched
  SET searched.scope_words = reduce(
    known = searched.scope_words, word IN words |
    CASE WHEN known CONTAINS word THEN known ELSE known + ' ' + word END
  )
}
WITH fact, row
CALL (fact, row) {
  UNWIND row.source_ids AS source_id
  MATCH (source:Memory {client_id: $client_id, id: source_id})
  MERGE (fact)-[:DERIVED_FROM]->(source)
}
RETURN count(*) AS written
