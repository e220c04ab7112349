CYPHER 25
// The vector index anew, with its vectors as they are: Neo4j 2026.09.0 scores what a quantised index found
// a second time, and that fails, or never ends, where a filter finds nothing and memories were deleted.
//
// $dimensions  int  the length of the installation's embeddings
DROP INDEX memory_embedding IF EXISTS;

CREATE VECTOR INDEX memory_embedding IF NOT EXISTS
FOR (memory:Memory) ON memory.embedding
WITH [
  memory.client_id, memory.kind, memory.active, memory.conversation_id, memory.session_id,
  memory.source_type, memory.source_id, memory.category, memory.scope, memory.occurred_at,
  memory.valid_at, memory.invalid_at, memory.created_at, memory.superseded_at
]
OPTIONS {indexConfig: {
  `vector.dimensions`: $dimensions,
  `vector.similarity_function`: 'cosine',
  `vector.quantization.type`: 'none',
  `vector.default_search_expansion_factor`: 1.0
}};
