CYPHER 25
// Links new facts to their sources and to similar facts; an existing edge stays.
//
// $client_id  string     the client
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
