CYPHER 25
// Writes new runs, each recorded as its first operation; takes a child's budget from its parent's.
//
// $client_id  string     the client
// $rows       list<map>  {run, access, parent_id}: properties; a parent is locked by this transaction
UNWIND $rows AS row
CREATE (run:Run)
SET run = row.run, run.client_id = $client_id
CREATE (access:Access)
SET access = row.access, access.client_id = $client_id
CREATE (run)-[:PERFORMED]->(access)
WITH run, row
CALL (run, row) {
  MATCH (parent:Run {client_id: $client_id, id: row.parent_id})
  SET
    parent.given = parent.given + run.max_tokens,
    parent.retries_given = parent.retries_given + run.max_retries
  CREATE (parent)-[:SPAWNED]->(run)
  RETURN count(*) AS parents
}
RETURN count(*) AS written
