CYPHER 25
// Keeps what was measured of the embedding model, unless another process came first.
//
// $low   float  the cosine up to which texts have nothing to do with each other
// $high  float  the cosine from which they mean the same
MATCH (installation:Installation {id: 'installation'})
SET installation.locked = true
WITH installation
SET
  installation.cosine_high =
    CASE WHEN installation.cosine_low IS NULL THEN $high ELSE installation.cosine_high END,
  installation.cosine_low = coalesce(installation.cosine_low, $low)
REMOVE installation.locked
RETURN installation.cosine_low AS low, installation.cosine_high AS high
