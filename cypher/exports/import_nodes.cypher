CYPHER 25
// Makes the nodes of an export, which do not exist yet.
//
// $client_id  string     the client that gets them
// $rows       list<map>  {labels, properties, vectors}; the last are lists of numbers by the names of properties
UNWIND $rows AS row
CREATE (node:$(row.labels))
SET node = row.properties, node.client_id = $client_id
WITH node, row
UNWIND keys(row.vectors) AS name
CALL db.create.setNodeVectorProperty(node, name, row.vectors[name])
RETURN count(*) AS written
