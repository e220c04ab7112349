CYPHER 25
// Edges between nodes of different clients.
//
// $scanned  int  the number of edges examined
// $most     int  the number of defects after which the search ends
MATCH (from)-[edge]->(to)
WITH from, edge, to
LIMIT $scanned
WHERE from.client_id <> to.client_id
WITH from, edge, to
LIMIT $most
RETURN
  count(edge) AS found,
  collect(from.id + ' ' + type(edge) + ' ' + to.id)[..3] AS examples
