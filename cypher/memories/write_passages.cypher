CYPHER 25
// Writes passages of long memories with the vectors that the installation requires. Returns the required
// models for which the rows have no vectors.
//
// $client_id    string     the client
// $active_word  string     the scope word of active memories, which passages do not carry
// $rows         list<map>  {memory_id, properties, embeddings}; the last is keyed by model, or by `current` for
// the current one
UNWIND $rows AS row
MATCH (memory:Memory {client_id: $client_id, id: row.memory_id})
CREATE (passage:Passage)-[:PASSAGE_OF]->(memory)
SET passage = row.properties,
  passage.client_id = $client_id,
  passage.conversation_id = memory.conversation_id,
  passage.session_id = memory.session_id,
  passage.scope_words = replace(memory.scope_words, $active_word, '')
WITH collect({passage: passage, row: row}) AS made
// include required_sides
CALL (made, sides) {
  UNWIND made AS one
  UNWIND sides AS side
  WITH one.passage AS passage, one.row AS row, side,
    CASE WHEN side.current AND one.row.embeddings[side.model] IS NULL THEN 'current' ELSE side.model END AS model
  WITH passage, side, row.embeddings[model] AS embedding
  WHERE embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(passage, side.property, embedding)
  RETURN count(*) AS vectors
}
RETURN
  // include lacking
