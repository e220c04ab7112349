CYPHER 25
// Edges that join what belongs to different clients.
//
// $scanned  int  how many edges are looked at
// $most     int  after how many of these it ends
MATCH (from)-[edge]->(to)
WITH from, edge, to
LIMIT $scanned
WHERE from.client_id <> to.client_id
WITH from, edge, to
LIMIT $most
RETURN
  count(edge) AS found,
  collect(from.id + ' ' + type(edge) + ' ' + to.id)[..3] AS examples
