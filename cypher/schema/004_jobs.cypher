CYPHER 25
// Background work: a job is known by its key within its client and kind, and found by when it is due.
CREATE CONSTRAINT job_key IF NOT EXISTS
FOR (job:Job) REQUIRE (job.client_id, job.kind, job.key) IS UNIQUE;

CREATE CONSTRAINT job_id IF NOT EXISTS
FOR (job:Job) REQUIRE (job.client_id, job.id) IS UNIQUE;

CREATE INDEX job_due IF NOT EXISTS
FOR (job:Job) ON (job.state, job.run_at);
