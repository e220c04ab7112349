CYPHER 25
// The next memory of a client that still lacks some of its passages, and the number of those that it has.
//
// $client_id  string  the client
MATCH (memory:Memory {passages_due: true, client_id: $client_id})
WHERE memory.id IS NOT NULL // names every property: else the index is not used
WITH memory
// As in the index.
ORDER BY memory.passages_due, memory.client_id, memory.id
LIMIT 1
RETURN memory.id AS id, memory.text AS text, COUNT {
  (memory)<-[:PASSAGE_OF]-(:Passage {client_id: $client_id})
} AS passages
