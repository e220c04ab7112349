CYPHER 25
// Counts what a client has, in the transaction of a write; from then on each write and deletion keeps it right.
//
// $client_id  string    the client
// $day        string    today, such as 2026-11-24
// $begin      datetime  its begin
// $now        datetime  now
MERGE (usage:Usage {client_id: $client_id})
// Whoever writes for the client waits here, so nothing is missed.
SET usage.locked = true
WITH usage
CALL () {
  MATCH (memory:Memory {client_id: $client_id})
  WHERE memory.id IS NOT NULL
  RETURN
    count(*) AS memories,
    sum(coalesce(memory.text_bytes, size(memory.text))) AS bytes,
    sum(CASE WHEN memory.created_at >= $begin THEN memory.token_count ELSE 0 END) AS tokens
}
SET
  usage.memories = memories,
  usage.bytes = bytes,
  // What was written and deleted today counts too.
  usage.tokens = CASE WHEN usage.day = $day THEN usage.tokens ELSE tokens END,
  usage.day = $day,
  usage.counted_at = $now
RETURN usage.memories AS memories, usage.bytes AS bytes, usage.day AS day, usage.tokens AS tokens,
  usage.counted_at AS counted_at
