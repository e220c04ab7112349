CYPHER 25
// Budgeted runs: ids and operation ids are unique within their client, active runs are counted, what is
// overdue is found, accesses are listed by time; a client's node is what starting a run locks.
CREATE CONSTRAINT client_key IF NOT EXISTS
FOR (client:Client) REQUIRE client.client_id IS UNIQUE;

CREATE CONSTRAINT run_id IF NOT EXISTS
FOR (run:Run) REQUIRE (run.client_id, run.id) IS UNIQUE;

CREATE CONSTRAINT run_operation IF NOT EXISTS
FOR (run:Run) REQUIRE (run.client_id, run.operation_id) IS UNIQUE;

CREATE INDEX run_active IF NOT EXISTS
FOR (run:Run) ON (run.client_id, run.status, run.deadline);

CREATE INDEX run_due IF NOT EXISTS
FOR (run:Run) ON (run.status, run.deadline);

CREATE CONSTRAINT hold_operation IF NOT EXISTS
FOR (hold:Hold) REQUIRE (hold.client_id, hold.run_id, hold.operation_id) IS UNIQUE;

CREATE INDEX hold_expiry IF NOT EXISTS
FOR (hold:Hold) ON (hold.expires_at);

CREATE CONSTRAINT access_id IF NOT EXISTS
FOR (access:Access) REQUIRE (access.client_id, access.id) IS UNIQUE;

CREATE CONSTRAINT access_operation IF NOT EXISTS
FOR (access:Access) REQUIRE (access.client_id, access.run_id, access.operation_id) IS UNIQUE;

CREATE INDEX access_time IF NOT EXISTS
FOR (access:Access) ON (access.client_id, access.run_id, access.at, access.id);
