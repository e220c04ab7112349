CYPHER 25
// Copies the links of the previous version to a new one: what the memory belongs to stays the same. Links of
// others to byte ranges of the old text stay there. So do links to a version that ended before the new one
// begins if its successor has them too: corrections of both of two linked memories would multiply their links.
//
// $client_id  string        the client
// $id         string        the new version, written by this transaction
// $head_id    string        the previous version, locked by this transaction
// $types      list<string>  the types of the links that are copied
MATCH (version:Memory {client_id: $client_id, id: $id})
MATCH (head:Memory {client_id: $client_id, id: $head_id})
CALL (version, head) {
  MATCH (head)-[link:
    // include link_types
  ]->(other:Memory {client_id: $client_id})
  WHERE other <> version AND type(link) IN $types
    AND NOT (other.invalid_at <= version.valid_at AND EXISTS {
      MATCH (other)<-[:SUPERSEDES]-(:Memory {client_id: $client_id})<-[same]-(head)
      WHERE type(same) = type(link) AND same.start_byte IS NULL AND link.start_byte IS NULL
    })
  CREATE (version)-[copy:$(type(link))]->(other)
  SET copy = properties(link)
  RETURN count(*) AS leaving
}
CALL (version, head) {
  MATCH (head)<-[link:
    // include link_types
  ]-(other:Memory {client_id: $client_id})
  WHERE other <> version AND type(link) IN $types AND link.start_byte IS NULL
    AND NOT (other.invalid_at <= version.valid_at AND EXISTS {
      MATCH (other)<-[:SUPERSEDES]-(:Memory {client_id: $client_id})-[same]->(head)
      WHERE type(same) = type(link) AND same.start_byte IS NULL
    })
  CREATE (version)<-[copy:$(type(link))]-(other)
  SET copy = properties(link)
  RETURN count(*) AS coming
}
RETURN leaving + coming AS written
