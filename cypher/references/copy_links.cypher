CYPHER 25
// Links a new version as the one before it was linked: it is the card of the same source. What others
// say of certain bytes of the old content stays with that.
//
// $client_id  string  whose references
// $id         string  the new version, written by this transaction
// $head_id    string  the version before it, locked by this transaction
MATCH (version:Memory {client_id: $client_id, id: $id})
MATCH (head:Memory {client_id: $client_id, id: $head_id})
CALL (version, head) {
  MATCH (head)-[link:
    // include link_types
  ]->(other:Memory {client_id: $client_id})
  WHERE other <> version
  CREATE (version)-[copy:$(type(link))]->(other)
  SET copy = properties(link)
  RETURN count(*) AS leaving
}
CALL (version, head) {
  MATCH (head)<-[link:
    // include link_types
  ]-(other:Memory {client_id: $client_id})
  WHERE other <> version AND link.start_byte IS NULL
  CREATE (version)<-[copy:$(type(link))]-(other)
  SET copy = properties(link)
  RETURN count(*) AS coming
}
RETURN leaving + coming AS written
