CYPHER 25
// Jobs by their conversation: they go with it.
CREATE INDEX job_conversation IF NOT EXISTS
FOR (job:Job) ON (job.client_id, job.conversation_id);
