CYPHER 25
// A client's entities in the order of their normal forms, each with its aliases and what it is an alias of.
//
// $client_id  string  whose entities
// $from       string  the first normal form
// $below      string  the first that is too far
// $limit      int     how many
MATCH (entity:Entity {client_id: $client_id})
WHERE entity.normalized >= $from AND entity.normalized < $below
WITH entity
// As the index has them: without the client it would read all of them first.
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
