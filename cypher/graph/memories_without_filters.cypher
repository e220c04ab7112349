CYPHER 25
// Memories without a property that searches filter by: an index cannot test for null, so no search finds
// them.
//
// $scanned  int  the number of memories examined
// $most     int  the number of defects after which the search ends
MATCH (memory:Memory)
WITH memory
LIMIT $scanned
WHERE memory.client_id IS NULL
  OR memory.kind IS NULL
  OR memory.active IS NULL
  OR memory.conversation_id IS NULL
  OR memory.session_id IS NULL
  OR memory.source_type IS NULL
  OR memory.source_id IS NULL
  OR memory.category IS NULL
  OR memory.scope IS NULL
  OR memory.occurred_at IS NULL
  OR memory.valid_at IS NULL
  OR memory.invalid_at IS NULL
  OR memory.created_at IS NULL
  OR memory.superseded_at IS NULL
  OR memory.search_text IS NULL
  OR memory.scope_words IS NULL
WITH memory
LIMIT $most
RETURN count(*) AS found, collect(memory.id)[..3] AS examples
