CYPHER 25
// Deletes the span that was set aside, and moves its edges to the span that replaces it, except the mentions
// in its old text; returns whether that is lost.
//
// $client_id  string  the client
// $id         string  the span, written by this transaction
// $aside      string  the span that had this id before
MATCH (span:Memory {client_id: $client_id, id: $id})
MATCH (old:Memory {client_id: $client_id, id: $aside})
CALL (span, old) {
  MATCH (old)-[edge]->(other {client_id: $client_id})
  WHERE NOT edge:MENTIONS|SPELLS_OUT
  CREATE (span)-[copy:$(type(edge))]->(other)
  SET copy = properties(edge)
}
CALL (span, old) {
  MATCH (old)<-[edge]-(other {client_id: $client_id})
  CREATE (span)<-[copy:$(type(edge))]-(other)
  SET copy = properties(edge)
}
WITH
  old,
  coalesce(old.text, '') <> '' AND old.text <> span.text AS text_lost,
  COLLECT {
    MATCH (old)-[:MENTIONS]->(entity:Entity {client_id: $client_id})
    RETURN DISTINCT entity.normalized
  } AS entities
WITH text_lost, entities, [old] AS gone
// include uncount
FOREACH (memory IN gone | DETACH DELETE memory)
RETURN text_lost, entities
