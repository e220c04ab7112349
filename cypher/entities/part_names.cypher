CYPHER 25
// Notes that a name is no alias of others, so that no rule makes it one again.
//
// $client_id  string        whose names, locked by this transaction
// $alias      string        the name, in normal form
// $others     list<string>  what it is not, in normal form
// $rule       string        the rule that had said so
// $now        datetime      now
MATCH (alias:Entity {client_id: $client_id, normalized: $alias})
UNWIND $others AS name
MATCH (other:Entity {client_id: $client_id, normalized: name})
MERGE (alias)-[apart:NOT_ALIAS_OF]->(other)
ON CREATE SET apart.rule = $rule, apart.created_at = $now
RETURN count(*) AS written
