CYPHER 25
// Makes the edges of an export between nodes of the same client.
//
// $client_id  string     the client
// $rows       list<map>  {type, start, end, properties}; the ends are addresses in this database
UNWIND $rows AS row
MATCH (start {client_id: $client_id})
WHERE elementId(start) = row.start
MATCH (end {client_id: $client_id})
WHERE elementId(end) = row.end
CREATE (start)-[edge:$(row.type)]->(end)
SET edge = row.properties
RETURN count(*) AS written
