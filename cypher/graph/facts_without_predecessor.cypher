CYPHER 25
// Facts that are a second or later version and supersede none.
//
// $scanned  int  the number of facts examined
// $most     int  the number of defects after which the search ends
MATCH (fact:Fact)
WITH fact
LIMIT $scanned
WHERE fact.version > 1
  AND NOT EXISTS {
    MATCH (fact)-[:SUPERSEDES]->(prior:Memory)
    WHERE prior.client_id = fact.client_id
  }
WITH fact
LIMIT $most
RETURN count(*) AS found, collect(fact.id)[..3] AS examples
