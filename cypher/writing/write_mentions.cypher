CYPHER 25
// Joins memories to the entities that they mention and, where their title is meant, name. The rows are
// in the order of their normal forms, so that writers who want the same entities never wait in a ring.
//
// $client_id  string     whose memories
// $rows       list<map>  {normalized, name, mentioned_by, named_by}; the latter two are ids, written just now
UNWIND $rows AS row
MERGE (entity:Entity {client_id: $client_id, normalized: row.normalized})
ON CREATE SET entity.name = row.name
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
RETURN count(*) AS written
