CYPHER 25
// Makes the nodes of an export, which do not exist yet.
//
// $client_id  string     the client that gets them
// $rows       list<map>  {labels, properties, times, vectors}; times are pairs of a property and a text, vectors
// are by the names of properties; the index takes lists of numbers only
UNWIND $rows AS row
CREATE (node:$(row.labels))
SET node = row.properties, node.client_id = $client_id
FOREACH (time IN row.times | SET node[time[0]] = datetime(time[1]))
WITH node, row
UNWIND keys(row.vectors) AS name
CALL db.create.setNodeVectorProperty(node, name, toFloatList(row.vectors[name]))
RETURN count(*) AS written
