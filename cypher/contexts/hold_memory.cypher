CYPHER 25
// Adds a chunk of a memory to a context; nothing where the memory was deleted meanwhile.
//
// $client_id   string  whose context and memory
// $context_id  string  the context, locked by this transaction
// $id          string  the memory
// $position    int     where it stands among those of its priority
// $priority    int     what has a higher one stands earlier
// $content     string  the chunk
// $tokens      int     how long that is
MATCH (context:Context {client_id: $client_id, id: $context_id})
MATCH (memory:Memory {client_id: $client_id, id: $id})
SET memory.locked = true
WITH context, memory
// Deleted while this waited for the lock, it has no properties any more.
WHERE memory.id IS NOT NULL
CREATE (context)-[:HOLDS {
  position: $position, priority: $priority, content: $content, tokens: $tokens
}]->(memory)
RETURN count(*) AS written
