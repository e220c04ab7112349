CYPHER 25
// Which Cypher operators have sent: each query once, the newest first.
CREATE CONSTRAINT audit_id IF NOT EXISTS
FOR (audit:Audit) REQUIRE (audit.client_id, audit.id) IS UNIQUE;

CREATE INDEX audit_at IF NOT EXISTS
FOR (audit:Audit) ON (audit.at, audit.id);
