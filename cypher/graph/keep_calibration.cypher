CYPHER 25
// Stores the calibration of the embedding model, unless another process was first.
//
// $low   float  the greatest cosine between unrelated texts
// $high  float  the least cosine between texts of the same meaning
MATCH (installation:Installation {id: 'installation'})
SET installation.locked = true
WITH installation
SET
  installation.cosine_high =
    CASE WHEN installation.cosine_low IS NULL THEN $high ELSE installation.cosine_high END,
  installation.cosine_low = coalesce(installation.cosine_low, $low)
REMOVE installation.locked
RETURN installation.cosine_low AS low, installation.cosine_high AS high
