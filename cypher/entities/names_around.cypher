CYPHER 25
// Names: the given ones, those with these spellings, and those with these short forms; each with its aliases
// and its evidence. The same name may come twice.
//
// $client_id  string        the client
// $names      list<string>  the names, in normal form
// $spelled    list<string>  spellings
// $shorts     list<string>  short forms
// $most       int           the maximum number for each spelling or short form
// $looked_at  int           the number of memories examined for the full forms of a short name
// $users      int           the number of memories examined for the sources of a name; '' for none
CALL () {
  UNWIND $names AS name
  MATCH (entity:Entity {client_id: $client_id, normalized: name})
  RETURN entity

  UNION

  UNWIND $spelled AS spelled
  CALL (spelled) {
    MATCH (entity:Entity {client_id: $client_id, spelled: spelled})
    RETURN entity
    LIMIT $most
  }
  RETURN entity

  UNION

  UNWIND $shorts AS short
  CALL (short) {
    MATCH (entity:Entity {client_id: $client_id, short: short})
    RETURN entity
    LIMIT $most
  }
  RETURN entity
}
OPTIONAL MATCH (entity)-[alias:ALIAS_OF]->(canonical:Entity {client_id: $client_id})
RETURN collect(entity {
  .normalized,
  .name,
  spelled: coalesce(entity.spelled, ''),
  short: coalesce(entity.short, ''),
  forms: COLLECT {
    MATCH (entity)<-[out:SPELLS_OUT]-(:Memory {client_id: $client_id})
    WITH out
    LIMIT $looked_at
    RETURN DISTINCT out.form AS form
    ORDER BY form
  },
  sources: COLLECT {
    MATCH (entity)<-[:MENTIONS]-(memory:Memory {client_id: $client_id})
    WITH memory
    LIMIT $users
    RETURN DISTINCT CASE WHEN memory.kind IN ['reference', 'span'] THEN memory.source_id ELSE '' END
  },
  apart: COLLECT {
    MATCH (entity)-[:NOT_ALIAS_OF]-(other:Entity {client_id: $client_id})
    RETURN other.normalized
  },
  aliases: COLLECT {
    MATCH (entity)<-[:ALIAS_OF]-(other:Entity {client_id: $client_id})
    RETURN other.normalized
  },
  alias_of: coalesce(canonical.normalized, ''),
  rule: alias.rule,
  of: coalesce(alias.of, ''),
  since: toString(alias.created_at)
}) AS rows
