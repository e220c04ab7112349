CYPHER 25
// Ends runs that this transaction has locked: drops their reservations, returns their unspent tokens to the
// parent, and records each end.
//
// $client_id  string     the client
// $rows       list<map>  {id, run, access}: the changed properties and those of the record, leaves first
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
