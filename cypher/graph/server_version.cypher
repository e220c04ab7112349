CYPHER 25
// Which version of Neo4j this is.
CALL dbms.components() YIELD name, versions
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version
