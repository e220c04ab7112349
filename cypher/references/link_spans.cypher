CYPHER 25
// Joins the spans of a content to their reference and each to the one before.
//
// $client_id  string     whose reference
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
