CYPHER 25
// Sets which categories a client's facts may have.
//
// $client_id   string        whose facts
// $categories  list<string>  the categories
MERGE (client:Client {client_id: $client_id})
SET client.categories = $categories
RETURN count(*) AS written
