CYPHER 25
// Writes memories of any kind with their vectors; the label of the kind stands beside :Memory.
//
// $client_id  string     whose memories
// $rows       list<map>  {label, properties, embedding}; properties hold an id that is not taken
UNWIND $rows AS row
CREATE (memory:Memory:$(row.label))
SET memory = row.properties, memory.client_id = $client_id
WITH memory, row
CALL db.create.setNodeVectorProperty(memory, 'embedding', row.embedding)
RETURN count(*) AS written
