CYPHER 25
// Passages whose memory does not exist.
//
// $scanned  int  the number of passages examined
// $most     int  the number of defects after which the search ends
MATCH (passage:Passage)
WITH passage
LIMIT $scanned
WHERE NOT EXISTS {
  MATCH (passage)-[:PASSAGE_OF]->(memory:Memory)
  WHERE memory.client_id = passage.client_id AND memory.id = passage.memory_id
}
WITH passage
LIMIT $most
RETURN count(*) AS found, collect(passage.id)[..3] AS examples
