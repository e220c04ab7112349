CYPHER 25
// The memories inside any filters that lie nearest in meaning, by exact cosine: for filters by time, which
// Lucene does not know, so that all of the kinds are looked through.
//
// $client_id  string         whose memories
// $kinds      list<string>   among which kinds
// $actives    list<boolean>  whether what holds now is looked through, and what does not
// include listing
  // include values_in
  // include held_then
// include nearest
