CYPHER 25
// Writes memories of any kind with the vectors that the installation asks for; the label of the kind stands
// beside :Memory. Says of which models it asks for vectors that the rows lack.
//
// $client_id  string     whose memories
// $rows       list<map>  {label, properties, embeddings, truncated}; properties hold an id that is not taken,
//                        the last two have models for keys, or `current` for whichever is that
UNWIND $rows AS row
CREATE (memory:Memory:$(row.label))
SET memory = row.properties, memory.client_id = $client_id
WITH collect({memory: memory, row: row}) AS made
// After the memories are made, not before: a change of the model begins with an index, which waits for all who
// have made one. So whoever has not seen the change is done before it counts on being seen.
OPTIONAL MATCH (installation:Installation {id: 'installation'})
WITH
  made,
  coalesce(installation.embeddings, ['embedding']) AS properties,
  installation.embedding_model + '@' + installation.embedding_sha256 AS current,
  CASE installation.change_state
    WHEN 'embedding' THEN installation.wanted_model + '@' + installation.wanted_sha256
    ELSE installation.former_model + '@' + installation.former_sha256
  END AS beside
WITH made, [place IN range(0, size(properties) - 1) | {
  property: properties[place],
  model: [coalesce(current, 'current'), beside][place],
  current: place = 0
}] AS sides
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
  [
    side IN sides WHERE any(
      row IN $rows WHERE row.embeddings[side.model] IS NULL
        AND (NOT side.current OR row.embeddings.current IS NULL)
    )
    | side.model
  ] AS lacking
