CYPHER 25
// The memories that pass any filters and are nearest to the question, by exact cosine: for filters by time,
// which Lucene cannot decide, so that all memories of the kinds are examined.
//
// $client_id  string         the client
// $kinds      list<string>   the kinds that are searched
// $actives    list<boolean>  the values of `active` that are searched
// include listing
  // include values_in
  // include held_then
// include nearest
