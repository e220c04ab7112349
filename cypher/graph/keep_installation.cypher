CYPHER 25
// The one installation, made of what is given where there was none.
//
// $embedding_model   string  the embedding model's name
// $embedding_sha256  string  the hash of its weights
// $dimensions        int     the length of its embeddings
// $tokenizer         string  the tokenizer's name
MERGE (installation:Installation {id: 'installation'})
ON CREATE SET
  installation.embedding_model = $embedding_model,
  installation.embedding_sha256 = $embedding_sha256,
  installation.dimensions = $dimensions,
  installation.tokenizer = $tokenizer,
  installation.created_at = datetime.transaction()
RETURN
  installation.embedding_model AS embedding_model,
  installation.embedding_sha256 AS embedding_sha256,
  installation.dimensions AS dimensions,
  installation.tokenizer AS tokenizer
