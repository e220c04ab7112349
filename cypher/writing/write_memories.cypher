CYPHER 25
// Writes memories of any kind with the vectors that the installation asks for; the label of the kind stands
// beside :Memory. Says which vectors it asks for and the rows lack.
//
// $client_id  string     whose memories
// $rows       list<map>  {label, properties, embeddings, truncated}; properties hold an id that is not taken
UNWIND $rows AS row
CREATE (memory:Memory:$(row.label))
SET memory = row.properties, memory.client_id = $client_id
WITH collect({memory: memory, row: row}) AS made
// After the memories are made, not before: a change of the model begins with an index, which waits for all who
// have made one. So whoever has not seen the change is done before it counts on being seen.
OPTIONAL MATCH (installation:Installation {id: 'installation'})
WITH made, coalesce(installation.embeddings, ['embedding']) AS wanted
CALL (made, wanted) {
  UNWIND made AS one
  UNWIND wanted AS property
  WITH one.memory AS memory, one.row AS row, property, wanted[0] AS current
  WHERE row.embeddings[property] IS NOT NULL
  FOREACH (_ IN CASE WHEN property = current THEN [1] ELSE [] END |
    SET memory.embedding_truncated = row.truncated[property])
  FOREACH (_ IN CASE WHEN property <> current THEN [1] ELSE [] END |
    SET memory.other_truncated = row.truncated[property])
  WITH memory, property, row.embeddings[property] AS vector
  CALL db.create.setNodeVectorProperty(memory, property, vector)
  RETURN count(*) AS vectors
}
RETURN
  size(made) AS written,
  [property IN wanted WHERE any(row IN $rows WHERE row.embeddings[property] IS NULL)] AS lacking
