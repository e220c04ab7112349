CYPHER 25
// Writes memories of any kind with the vectors that the installation requires; adds the label of the kind to
// :Memory. Returns the required models for which the rows have no vectors.
//
// $client_id  string     the client
// $rows       list<map>  {label, properties, embeddings, truncated}; properties hold an id that is not taken,
// the last two are keyed by model, or by `current` for the current one
UNWIND $rows AS row
CREATE (memory:Memory:$(row.label))
SET memory = row.properties, memory.client_id = $client_id
WITH collect({memory: memory, row: row}) AS made
// include required_sides
CALL (made, sides) {
  UNWIND made AS one
  UNWIND sides AS side
  WITH one.memory AS memory, one.row AS row, side,
    CASE WHEN side.current AND one.row.embeddings[side.model] IS NULL THEN 'current' ELSE side.model END AS model
  WITH memory, side, row.embeddings[model] AS embedding, row.truncated[model] AS truncated
  WHERE embedding IS NOT NULL
  SET
    memory.embedding_truncated =
      CASE WHEN side.current THEN truncated ELSE memory.embedding_truncated END,
    memory.other_truncated = CASE WHEN side.current THEN memory.other_truncated ELSE truncated END
  WITH memory, side, embedding
  CALL db.create.setNodeVectorProperty(memory, side.property, embedding)
  RETURN count(*) AS vectors
}
RETURN
  size(made) AS written,
  // include lacking
