CYPHER 25
// Links memories to the entities that they mention, and to those that their titles name. The rows are in the
// order of their normal forms, so that concurrent writers do not deadlock.
//
// $client_id  string     the client
// $rows       list<map>  {normalized, name, mentioned_by, named_by, spelled_out, met}; see below
// mentioned_by and named_by are ids of memories just written; spelled_out is {by, form}: such an id, and the
// full form that it gives for a short name; met tells whether one uses the full name beside a given name.
// Entities that are new or may have changed their meaning are marked for alias detection.
UNWIND $rows AS row
MERGE (entity:Entity {client_id: $client_id, normalized: row.normalized})
ON CREATE SET entity.name = row.name, entity.alias_due = true
FOREACH (_ IN CASE WHEN row.met THEN [true] ELSE [] END |
  SET entity.alias_due = true
)
WITH entity, row
CALL (entity, row) {
  UNWIND row.mentioned_by AS id
  MATCH (memory:Memory {client_id: $client_id, id: id})
  CREATE (memory)-[:MENTIONS]->(entity)
}
CALL (entity, row) {
  UNWIND row.named_by AS id
  MATCH (memory:Memory {client_id: $client_id, id: id})
  CREATE (memory)-[:NAMES]->(entity)
}
CALL (entity, row) {
  UNWIND row.spelled_out AS spelled
  MATCH (memory:Memory {client_id: $client_id, id: spelled.by})
  CREATE (memory)-[:SPELLS_OUT {form: spelled.form}]->(entity)
  SET entity.alias_due = true
}
RETURN count(*) AS written
