CYPHER 25
// Deletes the given entities that no memory mentions or names any more, and marks the entities whose aliases
// may change without them. Locks them first: of concurrent deletions of the last mentions, the last one sees
// that none is left.
//
// $client_id   string        the client
// $normalized  list<string>  their normal forms, in order
UNWIND $normalized AS normalized
MATCH (entity:Entity {client_id: $client_id, normalized: normalized})
SET entity.locked = true
WITH entity
// A node that was deleted while this waited for the lock has no properties.
WHERE entity.normalized IS NOT NULL
WITH entity, EXISTS { (entity)<-[:MENTIONS|NAMES]-(:Memory {client_id: $client_id}) } AS stays
WITH collect(CASE WHEN stays THEN entity END) AS staying, collect(CASE WHEN NOT stays THEN entity END) AS gone
CALL (staying) {
  // A deleted memory may have given the meaning of a name.
  UNWIND staying AS entity
  WITH entity
  WHERE EXISTS { (entity)<-[:SPELLS_OUT]-(:Memory {client_id: $client_id}) }
    OR EXISTS { (entity)-[:ALIAS_OF]-(:Entity {client_id: $client_id}) }
  SET entity.alias_due = true
}
CALL (gone) {
  UNWIND gone AS entity
  MATCH (entity)-[:ALIAS_OF]-(near:Entity {client_id: $client_id})
  SET near.alias_due = true
}
CALL (gone) {
  // An alias of the same canonical name that depended on this one.
  UNWIND gone AS entity
  MATCH (entity)-[:ALIAS_OF]->(:Entity {client_id: $client_id})<-[alias:ALIAS_OF]-
    (near:Entity {client_id: $client_id})
  WHERE alias.of = entity.normalized
  SET near.alias_due = true
  DELETE alias
}
CALL (gone) {
  // A short name that had two possible meanings may have only one left.
  UNWIND gone AS entity
  CALL (entity) {
    MATCH (near:Entity {client_id: $client_id, spelled: entity.short})
    RETURN near

    UNION

    MATCH (near:Entity {client_id: $client_id, short: entity.short})
    RETURN near
    LIMIT 50
  }
  SET near.alias_due = true
}
CALL (gone) {
  UNWIND gone AS entity
  MATCH (entity)-[edge:ALIAS_OF|NOT_ALIAS_OF]-()
  DELETE edge
}
// An entity that is mentioned at this moment has an edge, so its deletion fails.
FOREACH (entity IN gone | DELETE entity)
RETURN size(gone) AS written
