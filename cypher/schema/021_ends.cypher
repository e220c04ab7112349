CYPHER 25
// A version ends where a newer one begins first. Where a later correction began before an earlier one, the
// versions before both kept the end that the earlier one gave them.
MATCH (newer:Memory)-[:SUPERSEDES]->(head:Memory)
WHERE newer.valid_at < head.valid_at
MATCH (head)(()-[:SUPERSEDES]->(:Memory)){1,}(memory:Memory)
WHERE newer.valid_at < memory.invalid_at
WITH memory, min(newer.valid_at) AS replaced
WHERE memory.valid_at < memory.invalid_at
CALL (memory, replaced) {
  SET memory.invalid_at =
    CASE WHEN replaced < memory.valid_at THEN memory.valid_at ELSE replaced END
} IN TRANSACTIONS OF 1000 ROWS;
