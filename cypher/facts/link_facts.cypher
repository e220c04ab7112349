CYPHER 25
// Joins new facts to what they come from, and to the facts that lie near; an edge that is there stays.
//
// $client_id  string     whose facts
// $now        datetime   now
// $rows       list<map>  {id, source_ids, similar: [{id, score}]}
UNWIND $rows AS row
MATCH (fact:Memory {client_id: $client_id, id: row.id})
CALL (fact, row) {
  UNWIND row.source_ids AS source_id
  MATCH (source:Memory {client_id: $client_id, id: source_id})
  MERGE (fact)-[:DERIVED_FROM]->(source)
}
CALL (fact, row) {
  UNWIND row.similar AS near
  MATCH (other:Memory {client_id: $client_id, id: near.id})
  MERGE (fact)-[link:RELATES_TO]->(other)
  ON CREATE SET link.basis = 'similar', link.score = near.score, link.created_at = $now
}
RETURN count(*) AS written
