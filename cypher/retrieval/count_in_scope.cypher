CYPHER 25
// Counts the memories in a scope, up to a number.
//
// $client_id  string  the client
// $scope      string  the Lucene query for everything in scope
// $most       int     the maximum number to count
MATCH (memory:Memory)
  SEARCH memory IN (
    FULLTEXT INDEX memory_text FOR $scope
    LIMIT $most
  )
WHERE memory.client_id = $client_id
RETURN count(*) AS memories
