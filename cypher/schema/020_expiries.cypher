CYPHER 25
// Expiries that the next version of a fact had inherited were stored with the name of a zone, and not as UTC.
MATCH (memory:Memory)
WHERE memory.expires_at IS NOT NULL AND toString(memory.expires_at) ENDS WITH ']'
CALL (memory) {
  SET memory.expires_at = datetime({datetime: memory.expires_at, timezone: 'Z'})
} IN TRANSACTIONS OF 1000 ROWS;
