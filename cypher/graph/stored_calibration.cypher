CYPHER 25
// Which cosines of the installation's embedding model mean nothing, and which mean the same.
MATCH (installation:Installation {id: 'installation'})
WHERE installation.cosine_low IS NOT NULL
RETURN installation.cosine_low AS low, installation.cosine_high AS high
