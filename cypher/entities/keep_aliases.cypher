CYPHER 25
// Replaces the aliases of names; an empty canonical name removes one. An alias with the same rule and step
// keeps its time.
//
// $client_id  string     the client
// $rows       list<map>  {alias, before, canonical, rule?, of}, normal forms; canonical is '' for none
// $now        datetime   now
UNWIND $rows AS row
MATCH (alias:Entity {client_id: $client_id, normalized: row.alias})
OPTIONAL MATCH (alias)-[old:ALIAS_OF]->(:Entity {client_id: $client_id})
WITH row, alias, collect(old) AS olds
WITH row, alias, olds, [one IN olds WHERE one.rule = row.rule AND one.of = row.of | one.created_at][0] AS since
FOREACH (old IN olds | DELETE old)
WITH row, alias, since
MATCH (canonical:Entity {client_id: $client_id, normalized: row.canonical})
CREATE (alias)-[:ALIAS_OF {rule: row.rule, of: row.of, created_at: coalesce(since, $now)}]->(canonical)
RETURN count(*) AS written
