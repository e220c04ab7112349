CYPHER 25
// Writes memories of any kind with the vectors that the installation requires; adds the label of the kind to
// :Memory. Returns the required models for which the rows have no vectors, and what the client has now if that
// is counted.
//
// $client_id  string     the client
// $rows       list<map>  {label, properties, embeddings, truncated}; properties hold an id that is not taken,
// the last two are keyed by model, or by `current` for the current one
// $bytes      int        the length of their texts
// $tokens     int        their tokens
// $day        string     the day of the write, such as 2026-11-24
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
CALL () {
  OPTIONAL MATCH (usage:Usage {client_id: $client_id})
  SET
    usage.memories = usage.memories + size($rows),
    usage.bytes = usage.bytes + $bytes,
    usage.tokens = CASE WHEN usage.day < $day THEN 0 ELSE usage.tokens END + $tokens,
    usage.day = CASE WHEN usage.day < $day THEN $day ELSE usage.day END
  RETURN usage {
    .memories, .bytes, .day, .tokens, counted_at: toString(usage.counted_at)
  } AS usage
}
RETURN
  usage,
  // include lacking
