CYPHER 25
// Notes that facts were said again, and joins them to what they come from this time too.
//
// $client_id  string     whose facts
// $now        datetime   now: what was noted at this moment was noted by this call, whose answer got lost
// $rows       list<map>  {id, times, importance, source_ids}
UNWIND $rows AS row
MATCH (fact:Memory {client_id: $client_id, id: row.id})
SET
  fact.reinforced = coalesce(fact.reinforced, 0)
    + CASE WHEN fact.reinforced_at = $now THEN 0 ELSE row.times END,
  fact.reinforced_at = $now,
  fact.importance =
    CASE WHEN row.importance > fact.importance THEN row.importance ELSE fact.importance END
WITH fact, row
CALL (fact, row) {
  UNWIND row.source_ids AS source_id
  MATCH (source:Memory {client_id: $client_id, id: source_id})
  MERGE (fact)-[:DERIVED_FROM]->(source)
}
RETURN count(*) AS written
