CYPHER 25
// Passages without an embedding: only a search by words finds them.
//
// $scanned  int  the number of passages examined
// $most     int  the number of defects after which the search ends
MATCH (passage:Passage)
WITH passage
LIMIT $scanned
WHERE passage.embedding IS NULL
WITH passage
LIMIT $most
RETURN count(*) AS found, collect(passage.id)[..3] AS examples
