CYPHER 25
// The two indexes that find memories. Every property that a search may filter on stands in the vector
// index from the start: adding one means building it anew.
//
// $dimensions  int  the length of the installation's embeddings
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
  `vector.quantization.type`: 'binary'
}};

CREATE FULLTEXT INDEX memory_text IF NOT EXISTS
FOR (memory:Memory) ON EACH [memory.search_text, memory.scope_words]
OPTIONS {indexConfig: {
  `fulltext.analyzer`: 'english',
  `fulltext.eventually_consistent`: false
}};
