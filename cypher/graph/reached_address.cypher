CYPHER 25
// Tests whether LOAD CSV may reach the network: loads from an address where nothing answers; the error tells
// whether the request was forbidden or tried.
LOAD CSV FROM 'http://127.0.0.1:9/' AS line
RETURN count(line) AS lines
