CYPHER 25
// The categories that a client has chosen for its facts; none if it has not chosen.
//
// $client_id  string  the client
RETURN COLLECT {
  MATCH (client:Client {client_id: $client_id})
  UNWIND client.categories AS category
  RETURN category
} AS categories
