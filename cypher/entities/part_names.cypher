CYPHER 25
// Records that a name is no alias of others; no rule joins them again.
//
// $client_id  string        the client
// $alias      string        the name, in normal form
// $others     list<string>  the names that it is not an alias of, in normal form
// $rule       string        the rule that had joined them
// $now        datetime      now
MATCH (alias:Entity {client_id: $client_id, normalized: $alias})
UNWIND $others AS name
MATCH (other:Entity {client_id: $client_id, normalized: name})
MERGE (alias)-[apart:NOT_ALIAS_OF]->(other)
ON CREATE SET apart.rule = $rule, apart.created_at = $now
RETURN count(*) AS written
