CYPHER 25
// Whether the database can begin a transaction and read a node, of no client.
OPTIONAL MATCH (installation:Installation {id: 'installation'})
RETURN count(installation) AS read
