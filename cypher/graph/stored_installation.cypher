CYPHER 25
// The one installation, where there is one.
MATCH (installation:Installation {id: 'installation'})
RETURN
  installation.embedding_model AS embedding_model,
  installation.embedding_sha256 AS embedding_sha256,
  installation.dimensions AS dimensions,
  installation.tokenizer AS tokenizer
