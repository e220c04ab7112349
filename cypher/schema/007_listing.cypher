CYPHER 25
// Lists: a client's memories by time or importance, counted and filtered without being read. Whatever
// a search may filter by stands in the index.
CREATE INDEX memory_listing IF NOT EXISTS
FOR (memory:Memory) ON (
  memory.client_id, memory.active, memory.kind, memory.occurred_at, memory.source_type,
  memory.source_id, memory.conversation_id, memory.importance, memory.id
);
