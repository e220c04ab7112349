CYPHER 25
// Counts the passages of all clients, from the server's count store.
MATCH (passage:Passage)
RETURN count(passage) AS passages
