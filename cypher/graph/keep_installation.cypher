CYPHER 25
// The one installation, created from the parameters if there is none.
//
// $embedding_model   string   the embedding model's name
// $embedding_sha256  string   the hash of its weights
// $dimensions        int      the length of its embeddings
// $tokenizer         string   the tokenizer's name
// $embedding_source  string?  where the model is found, if its name does not say
MERGE (installation:Installation {id: 'installation'})
ON CREATE SET
  installation.embedding_model = $embedding_model,
  installation.embedding_sha256 = $embedding_sha256,
  installation.dimensions = $dimensions,
  installation.tokenizer = $tokenizer,
  installation.embedding_source = $embedding_source,
  installation.created_at = datetime.transaction()
RETURN
  installation.embedding_model AS embedding_model,
  installation.embedding_sha256 AS embedding_sha256,
  installation.dimensions AS dimensions,
  installation.tokenizer AS tokenizer,
  installation.embedding_source AS embedding_source,
  coalesce(installation.embeddings, ['embedding']) AS embeddings,
  CASE WHEN installation.former_model IS NOT NULL THEN {
    name: installation.former_model,
    sha256: installation.former_sha256,
    dimensions: installation.former_dimensions,
    source: installation.former_source
  } END AS former,
  CASE WHEN installation.change_state IS NOT NULL THEN {
    id: installation.change_id,
    state: installation.change_state,
    at: toString(installation.change_at),
    wanted: {
      name: installation.wanted_model,
      sha256: installation.wanted_sha256,
      dimensions: installation.wanted_dimensions,
      source: installation.wanted_source
    },
    low: installation.wanted_low,
    high: installation.wanted_high,
    indexed: coalesce(installation.change_indexed, false),
    done: coalesce(installation.change_done, 0),
    total: coalesce(installation.change_total, 0),
    after_client: coalesce(installation.change_after_client, ''),
    after_id: coalesce(installation.change_after_id, '')
  } END AS change
