CYPHER 25
// Forgets that a name was said to be no alias of others.
//
// $client_id  string        whose names, locked by this transaction
// $alias      string        the name, in normal form
// $others     list<string>  what it may be again, in normal form
MATCH (alias:Entity {client_id: $client_id, normalized: $alias})
MATCH (alias)-[apart:NOT_ALIAS_OF]-(other:Entity {client_id: $client_id})
WHERE other.normalized IN $others
DELETE apart
RETURN count(*) AS written
