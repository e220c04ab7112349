CYPHER 25
// The memories that pass any filters and are nearest to the question, by exact cosine.
//
// $client_id  string  the client
// $scope      string  the Lucene query for everything in scope
// $most       int     the maximum number to compare
MATCH (memory:Memory)
  SEARCH memory IN (
    FULLTEXT INDEX memory_text FOR $scope
    LIMIT $most
  )
WHERE memory.client_id = $client_id
  // include values_in
  // include held_then
// include nearest
