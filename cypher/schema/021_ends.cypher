CYPHER 25
// A version ends where a newer one begins first. Where a later correction began before an earlier one, the
// versions before both kept the end that the earlier one gave them.
MATCH (memory:Memory {active: false})
WITH
  memory,
  COLLECT {
    MATCH (memory)(()<-[:SUPERSEDES]-(:Memory)){2,}(newer:Memory)
    RETURN newer.valid_at
    ORDER BY newer.valid_at
    LIMIT 1
  }[0] AS replaced
WHERE replaced < memory.invalid_at AND memory.valid_at < memory.invalid_at
CALL (memory, replaced) {
  SET memory.invalid_at =
    CASE WHEN replaced < memory.valid_at THEN memory.valid_at ELSE replaced END
} IN TRANSACTIONS OF 1000 ROWS;
