CYPHER 25
// Writes vectors of one side to memories of any client that are still there: those of a change of the model,
// and those of a write that had not seen it.
//
// $property  string     the side's property
// $current   boolean    whether the side is the one that questions are asked on
// $rows      list<map>  {client_id, id, embedding, truncated}
UNWIND $rows AS row
MATCH (memory:Memory {client_id: row.client_id, id: row.id})
FOREACH (_ IN CASE WHEN $current THEN [1] ELSE [] END |
  SET memory.embedding_truncated = row.truncated)
FOREACH (_ IN CASE WHEN $current THEN [] ELSE [1] END |
  SET memory.other_truncated = row.truncated)
WITH memory, row
CALL db.create.setNodeVectorProperty(memory, $property, row.embedding)
RETURN count(*) AS written
