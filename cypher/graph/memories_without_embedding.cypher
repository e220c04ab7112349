CYPHER 25
// Memories that have no embedding: they are found by their words alone.
//
// $scanned  int  how many memories are looked at
// $most     int  after how many of these it ends
MATCH (memory:Memory)
WITH memory
LIMIT $scanned
WHERE memory.embedding IS NULL
WITH memory
LIMIT $most
RETURN count(*) AS found, collect(memory.id)[..3] AS examples
