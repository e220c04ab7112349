CYPHER 25
// The calibration of the embedding model: the cosines of unrelated texts and of texts of the same meaning.
MATCH (installation:Installation {id: 'installation'})
WHERE installation.cosine_low IS NOT NULL
RETURN installation.cosine_low AS low, installation.cosine_high AS high
