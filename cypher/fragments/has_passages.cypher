// Whether the client has any passages.
//
// $client_id  string  the client
EXISTS {
  MATCH (known:Passage {client_id: $client_id})
  WHERE known.id IS NOT NULL // names every property: else the index is not used
}
