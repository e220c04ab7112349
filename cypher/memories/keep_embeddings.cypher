CYPHER 25
// Writes the vectors of one side to memories of any client that still exist: those of a change of the model,
// and those of a write that began before the change.
//
// $property  string     the side's property
// $rows      list<map>  {client_id, id, vector, truncated}
OPTIONAL MATCH (installation:Installation {id: 'installation'})
WITH coalesce(installation.embeddings[0], 'embedding') = $property AS current
UNWIND $rows AS row
MATCH (memory:Memory {client_id: row.client_id, id: row.id})
SET
  memory.embedding_truncated =
    CASE WHEN current THEN row.truncated ELSE memory.embedding_truncated END,
  memory.other_truncated = CASE WHEN current THEN memory.other_truncated ELSE row.truncated END
WITH memory, row
CALL db.create.setNodeVectorProperty(memory, $property, row.vector)
RETURN count(*) AS written
