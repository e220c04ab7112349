CYPHER 25
// The memories inside any filters that lie nearest in meaning, by exact cosine.
//
// $client_id  string  whose memories
// $scope      string  the Lucene query for everything in scope
// $most       int     how many are compared
MATCH (memory:Memory)
  SEARCH memory IN (
    FULLTEXT INDEX memory_text FOR $scope
    LIMIT $most
  )
WHERE memory.client_id = $client_id
  // include values_in
  // include held_then
// include nearest
