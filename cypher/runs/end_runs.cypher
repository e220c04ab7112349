CYPHER 25
// Ends runs that this transaction has locked: their holds go, what they left unspent goes back, each end
// is recorded.
//
// $client_id  string     whose runs
// $rows       list<map>  {id, run, access}: the properties that change, and the record's, from the leaves up
UNWIND $rows AS row
MATCH (run:Run {client_id: $client_id, id: row.id})
SET run += row.run
CREATE (access:Access)
SET access = row.access, access.client_id = $client_id
CREATE (run)-[:PERFORMED]->(access)
WITH run
CALL (run) {
  MATCH (run)-[:HOLDS]->(hold {client_id: $client_id})
  DETACH DELETE hold
  RETURN count(*) AS holds
}
CALL (run) {
  MATCH (parent:Run {client_id: $client_id})-[:SPAWNED]->(run)
  SET
    parent.given = parent.given - run.returned,
    parent.retries_given = parent.retries_given - run.retries_returned
  RETURN count(*) AS parents
}
RETURN count(*) AS written
