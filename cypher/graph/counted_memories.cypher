CYPHER 25
// How many memories there are, of any client; the server keeps this count.
MATCH (memory:Memory)
RETURN count(memory) AS memories
