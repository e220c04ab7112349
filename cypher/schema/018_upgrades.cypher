CYPHER 25
// The work that older versions did not do on messages: those without names are marked, and a job finds their
// names. Conversations whose sessions are not summarized or segmented get the jobs that a write queues.
CREATE INDEX memory_names_due IF NOT EXISTS
FOR (memory:Memory) ON (memory.names_due, memory.client_id, memory.id);

MATCH (memory:Message)
WHERE NOT EXISTS { (memory)-[:MENTIONS]->(:Entity) }
CALL (memory) {
  SET memory.names_due = true
} IN TRANSACTIONS OF 1000 ROWS;

MATCH (session:Session)
WHERE session.next_idx > coalesce(session.summarized_idx, 0)
CALL (session) {
  MERGE (job:Job {client_id: session.client_id, kind: 'summarize', key: session.conversation_id})
  ON CREATE SET
    job.id = randomUUID(), job.conversation_id = session.conversation_id, job.payload = '{}',
    job.state = 'queued', job.attempts = 0, job.run_at = datetime(), job.created_at = datetime()
} IN TRANSACTIONS OF 1000 ROWS;

MATCH (session:Session)
WHERE session.next_idx > coalesce(session.segmented_idx, 0)
CALL (session) {
  MERGE (job:Job {client_id: session.client_id, kind: 'segment', key: session.conversation_id})
  ON CREATE SET
    job.id = randomUUID(), job.conversation_id = session.conversation_id, job.payload = '{}',
    job.state = 'queued', job.attempts = 0, job.run_at = datetime(), job.created_at = datetime()
} IN TRANSACTIONS OF 1000 ROWS;
