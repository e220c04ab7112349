CYPHER 25
// Memories that a newer version has ended, and that no version supersedes. The spans of a content are ended with
// their reference.
//
// $scanned  int  the number of memories examined
// $most     int  the number of defects after which the search ends
MATCH (memory:Memory)
WITH memory
LIMIT $scanned
WHERE NOT memory:Span
  AND memory.superseded_at < datetime('9999-12-30T00:00:00Z') // the time that stands for no end
  AND NOT EXISTS {
    MATCH (memory)<-[:SUPERSEDES]-(newer:Memory)
    WHERE newer.client_id = memory.client_id
  }
WITH memory
LIMIT $most
RETURN count(*) AS found, collect(memory.id)[..3] AS examples
