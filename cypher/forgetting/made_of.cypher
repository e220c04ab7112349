CYPHER 25
// The memories that go with some memories: their other versions, the whole of a reference, the episodes and
// the summaries of messages, and on request what was derived from any.
//
// $client_id  string        the client
// $ids        list<string>  the memories
// $derived    boolean       whether to follow DERIVED_FROM
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
CALL (memory) {
  MATCH (memory)-[:SUPERSEDES]-(other:Memory {client_id: $client_id})
  RETURN other

  UNION

  MATCH (memory)<-[:PART_OF]-(other:Span {client_id: $client_id})
  RETURN other

  UNION

  // Without a part of it the content of a reference would not be whole.
  MATCH (memory)-[:PART_OF]->(other:Episode|Reference {client_id: $client_id})
  RETURN other

  UNION

  MATCH (memory)-[:PART_OF]->(:Session {client_id: $client_id})
    <-[:SUMMARIZES]-(other:Summary {client_id: $client_id})
  WHERE memory:Message
  RETURN other

  UNION

  FILTER $derived
  MATCH (memory)<-[:DERIVED_FROM]-(other:Memory {client_id: $client_id})
  RETURN other
}
RETURN collect(DISTINCT {id: other.id}) AS rows
