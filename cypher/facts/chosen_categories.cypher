CYPHER 25
// Which categories a client has chosen for its facts; none where it has not chosen.
//
// $client_id  string  which client
RETURN COLLECT {
  MATCH (client:Client {client_id: $client_id})
  UNWIND client.categories AS category
  RETURN category
} AS categories
