CYPHER 25
// All names that an entity goes by: its own, its canonical name and the aliases of that.
//
// $client_id   string  the client
// $normalized  string  the normal form of one of them
OPTIONAL MATCH (entity:Entity {client_id: $client_id, normalized: $normalized})
OPTIONAL MATCH (entity)-[:ALIAS_OF]->(found:Entity {client_id: $client_id})
WITH coalesce(found, entity) AS canonical
RETURN [$normalized] + COLLECT {
  MATCH (canonical)
  RETURN canonical.normalized

  UNION

  MATCH (canonical)<-[:ALIAS_OF]-(alias:Entity {client_id: $client_id})
  RETURN alias.normalized AS `canonical.normalized`
} AS names
