CYPHER 25
// A client's entities in the order of their normal forms, each with its aliases and its canonical name.
//
// $client_id  string  the client
// $from       string  the first normal form
// $below      string  the first normal form beyond the end
// $limit      int     the maximum number
MATCH (entity:Entity {client_id: $client_id})
WHERE entity.normalized >= $from AND entity.normalized < $below
WITH entity
// As the index is ordered: without the client all entities would be read first.
ORDER BY entity.client_id, entity.normalized
LIMIT $limit
OPTIONAL MATCH (entity)-[alias:ALIAS_OF]->(canonical:Entity {client_id: $client_id})
WITH entity, alias, canonical
ORDER BY entity.normalized
RETURN collect(entity {
  .name,
  .normalized,
  mentions: COUNT { (entity)<-[:MENTIONS]-() },
  alias_of: CASE WHEN canonical IS NOT NULL
    THEN {name: canonical.name, rule: alias.rule, created_at: toString(alias.created_at)} END,
  aliases: COLLECT {
    MATCH (entity)<-[joined:ALIAS_OF]-(other:Entity {client_id: $client_id})
    WITH joined, other
    ORDER BY other.normalized
    RETURN {
      name: other.name,
      rule: joined.rule,
      created_at: toString(joined.created_at),
      mentions: COUNT { (other)<-[:MENTIONS]-() }
    }
  }
}) AS rows
