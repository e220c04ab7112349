CYPHER 25
// Takes an incomplete content apart: deletes some of its spans, and unlinks the others from each other and
// from their reference.
//
// $client_id  string        the client
// $id         string        its id, locked by this transaction
// $gone       list<string>  the ids of the spans to delete
MATCH (reference:Memory {client_id: $client_id, id: $id})
MATCH (reference)<-[part:PART_OF]-(span:Span {client_id: $client_id})
DELETE part
WITH collect(span) AS spans
CALL (spans) {
  UNWIND spans AS span
  MATCH (span)-[next:NEXT]->(:Span {client_id: $client_id})
  DELETE next
  RETURN count(*) AS parted
}
WITH [span IN spans WHERE span.id IN $gone] AS gone
WITH
  gone,
  COLLECT {
    UNWIND gone AS span
    MATCH (span)-[:MENTIONS]->(entity:Entity {client_id: $client_id})
    RETURN DISTINCT entity.normalized
  } AS entities
// include uncount
FOREACH (span IN gone | DETACH DELETE span)
RETURN size(gone) AS memories, entities
