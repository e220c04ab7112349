CYPHER 25
// Links the spans of a content to their reference, and each to the previous one.
//
// $client_id  string     the client
// $id         string     its id
// $rows       list<map>  {id, previous_id?}
MATCH (reference:Memory {client_id: $client_id, id: $id})
UNWIND $rows AS row
MATCH (span:Memory {client_id: $client_id, id: row.id})
CREATE (span)-[:PART_OF]->(reference)
WITH span, row
WHERE row.previous_id IS NOT NULL
MATCH (previous:Memory {client_id: $client_id, id: row.previous_id})
CREATE (previous)-[:NEXT]->(span)
RETURN count(*) AS written
