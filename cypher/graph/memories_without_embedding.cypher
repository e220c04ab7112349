CYPHER 25
// Memories without an embedding: only a search by words finds them.
//
// $scanned  int  the number of memories examined
// $most     int  the number of defects after which the search ends
MATCH (memory:Memory)
WITH memory
LIMIT $scanned
WHERE memory.embedding IS NULL
WITH memory
LIMIT $most
RETURN count(*) AS found, collect(memory.id)[..3] AS examples
