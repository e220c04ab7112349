CYPHER 25
// Annotations: what expires is found by its time, of all clients. Spans that were registered with tags before
// tags were filters get a scope word that stands for whichever these are.
CREATE INDEX memory_expiry IF NOT EXISTS
FOR (memory:Memory) ON (memory.expires_at);

MATCH (span:Span)
WHERE span.tags IS NOT NULL AND NOT span.scope_words CONTAINS ' st0'
CALL (span) {
  SET span.scope_words = span.scope_words + ' st0'
} IN TRANSACTIONS OF 1000 ROWS;
