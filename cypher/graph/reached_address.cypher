CYPHER 25
// Whether LOAD CSV may reach an address: it is asked for one at which nothing answers, and fails, in
// words that say whether it was forbidden or tried.
LOAD CSV FROM 'http://127.0.0.1:9/' AS line
RETURN count(line) AS lines
