CYPHER 25
// The functions of the server, and whether they are built into Neo4j, for statements of any client.
SHOW FUNCTIONS
YIELD name, isBuiltIn
RETURN collect({name: name, own: isBuiltIn}) AS rows
