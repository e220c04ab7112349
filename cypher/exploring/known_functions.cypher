CYPHER 25
// The functions that the server knows, and whether they are Neo4j's own, for statements of any client.
SHOW FUNCTIONS
YIELD name, isBuiltIn
RETURN collect({name: name, own: isBuiltIn}) AS rows
