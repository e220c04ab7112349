CYPHER 25
// Deletes those of some entities that nothing mentions or names any more, and marks those whose aliases may be
// others without them. They are locked first, so that of several who delete the last mentions the last one
// sees that none is left.
//
// $client_id   string        whose entities
// $normalized  list<string>  their normal forms, in order
UNWIND $normalized AS normalized
MATCH (entity:Entity {client_id: $client_id, normalized: normalized})
SET entity.locked = true
WITH entity
// Deleted while this waited for the lock, it has no properties any more.
WHERE entity.normalized IS NOT NULL
WITH entity, EXISTS { (entity)<-[:MENTIONS|NAMES]-(:Memory {client_id: $client_id}) } AS stays
WITH collect(CASE WHEN stays THEN entity END) AS staying, collect(CASE WHEN NOT stays THEN entity END) AS gone
CALL (staying) {
  // What a name means may have been said by a memory that is gone.
  UNWIND staying AS entity
  WITH entity
  WHERE EXISTS { (entity)<-[:SPELLS_OUT]-() } OR EXISTS { (entity)-[:ALIAS_OF]-() }
  SET entity.alias_due = true
}
CALL (gone) {
  UNWIND gone AS entity
  MATCH (entity)-[:ALIAS_OF]-(near:Entity {client_id: $client_id})
  SET near.alias_due = true
}
CALL (gone) {
  // An alias of the same name that stood on this one.
  UNWIND gone AS entity
  MATCH (entity)-[:ALIAS_OF]->(:Entity {client_id: $client_id})<-[alias:ALIAS_OF]-
    (near:Entity {client_id: $client_id})
  WHERE alias.of = entity.normalized
  SET near.alias_due = true
  DELETE alias
}
CALL (gone) {
  // Where there were two whom a short name may have meant, there may be one now.
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
// One that is mentioned just now refuses to be deleted without its edges.
FOREACH (entity IN gone | DELETE entity)
RETURN size(gone) AS written
