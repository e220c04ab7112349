CYPHER 25
// Sets the allowed categories of a client's facts.
//
// $client_id   string        the client
// $categories  list<string>  the categories
MERGE (client:Client {client_id: $client_id})
SET client.categories = $categories
RETURN count(*) AS written
