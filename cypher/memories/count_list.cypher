CYPHER 25
// Counts the memories of a list.
//
// $client_id  string  the client
// include listing
  // include list_conditions
RETURN count(*) AS memories
