CYPHER 25
// Takes a content that is not whole apart: deletes some of its spans, and parts the others from each other and
// from their reference.
//
// $client_id  string        whose reference
// $id         string        its id, locked by this transaction
// $gone       list<string>  the ids of the spans that are deleted
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
FOREACH (span IN gone | DETACH DELETE span)
RETURN size(gone) AS memories, entities
