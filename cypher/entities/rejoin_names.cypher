CYPHER 25
// Deletes the record that a name is no alias of others.
//
// $client_id  string        the client
// $alias      string        the name, in normal form
// $others     list<string>  the names that it may be an alias of again, in normal form
MATCH (alias:Entity {client_id: $client_id, normalized: $alias})
MATCH (alias)-[apart:NOT_ALIAS_OF]-(other:Entity {client_id: $client_id})
WHERE other.normalized IN $others
DELETE apart
RETURN count(*) AS written
