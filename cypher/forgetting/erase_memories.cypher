CYPHER 25
// Deletes memories with their passages, and joins the neighbours of each.
//
// $client_id  string        the client
// $ids        list<string>  the memories, locked by this transaction
// $dry_run    boolean       whether the edges from reads stay, and with them the memories: all is rolled back
WITH COLLECT {
  UNWIND $ids AS id
  MATCH (memory:Memory {client_id: $client_id, id: id})
  RETURN memory
} AS gone
// include uncount
UNWIND $ids AS id
CALL (id) {
  MATCH (memory:Memory {client_id: $client_id, id: id})
  WITH memory, memory.kind AS kind,
    COLLECT {
      MATCH (memory)-[:MENTIONS|NAMES]->(entity:Entity {client_id: $client_id})
      RETURN DISTINCT entity.normalized
    } AS entities,
    COLLECT {
      MATCH (memory)<-[:PASSAGE_OF]-(passage:Passage {client_id: $client_id})
      RETURN passage
    } AS passages,
    COUNT { (memory)<-[:HOLDS]-(:Context {client_id: $client_id}) } AS held,
    COUNT { (memory)<-[:WROTE]-(:Access {client_id: $client_id}) } AS wrote,
    COLLECT {
      MATCH (before:Memory {client_id: $client_id})-[:NEXT]->(memory)
        -[:NEXT]->(after:Memory {client_id: $client_id})
      RETURN [before, after]
    } AS joined,
    COLLECT { MATCH (memory)-[edge:!RETURNED]-() FILTER $dry_run RETURN edge } AS edges
  FOREACH (pair IN joined |
    FOREACH (before IN [pair[0]] |
      FOREACH (after IN [pair[1]] |
        CREATE (before)-[:NEXT]->(after)
      )
    )
  )
  FOREACH (passage IN passages | DETACH DELETE passage)
  FOREACH (edge IN edges | DELETE edge)
  FOREACH (one IN CASE WHEN $dry_run THEN [] ELSE [memory] END | DETACH DELETE one)
  RETURN kind, entities, size(passages) AS passages, held, wrote
}
RETURN collect({
  kind: kind, entities: entities, passages: passages, held: held, wrote: wrote
}) AS rows
