CYPHER 25
// Adds a chunk of a memory to a context; does nothing if the memory was deleted meanwhile.
//
// $client_id   string  the client
// $context_id  string  the context, locked by this transaction
// $id          string  the memory
// $position    int     its place among the chunks of its priority
// $priority    int     chunks of higher priority come first
// $content     string  the chunk
// $text_bytes  int     its length in UTF-8
// $tokens      int     the length of the chunk
MATCH (context:Context {client_id: $client_id, id: $context_id})
MATCH (memory:Memory {client_id: $client_id, id: $id})
SET memory.locked = true
WITH context, memory
// A node that was deleted while this waited for the lock has no properties.
WHERE memory.id IS NOT NULL
SET context.text_bytes = coalesce(context.text_bytes, 0) + $text_bytes
CREATE (context)-[:HOLDS {
  position: $position, priority: $priority, content: $content, tokens: $tokens
}]->(memory)
RETURN count(*) AS written
