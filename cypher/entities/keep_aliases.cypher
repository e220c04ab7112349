CYPHER 25
// Makes names aliases of others, or of none, in the place of what they were. What stands on the same step as
// before keeps its time.
//
// $client_id  string     whose names, locked by this transaction
// $rows       list<map>  {alias, before, canonical, rule?, of}, normal forms; '' as canonical for none
// $now        datetime   now
UNWIND $rows AS row
MATCH (alias:Entity {client_id: $client_id, normalized: row.alias})
OPTIONAL MATCH (alias)-[old:ALIAS_OF]->()
WITH row, alias, collect(old) AS olds
WITH row, alias, olds, [one IN olds WHERE one.rule = row.rule AND one.of = row.of | one.created_at][0] AS since
FOREACH (old IN olds | DELETE old)
WITH row, alias, since
MATCH (canonical:Entity {client_id: $client_id, normalized: row.canonical})
CREATE (alias)-[:ALIAS_OF {rule: row.rule, of: row.of, created_at: coalesce(since, $now)}]->(canonical)
RETURN count(*) AS written
