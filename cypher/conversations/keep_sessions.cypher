CYPHER 25
// Creates the new sessions and advances the counters of all sessions written to.
//
// $client_id      string     the client
// $conversations  list<map>  {id, next_position, sessions}: conversations locked by this transaction, and their
// next positions afterwards; sessions are {id, external_id, next_idx, started_at, last_active_at}
UNWIND $conversations AS written
MATCH (conversation:Conversation {client_id: $client_id, id: written.id})
SET conversation.next_position = written.next_position
WITH conversation, written
UNWIND written.sessions AS row
MERGE (session:Session {client_id: $client_id, id: row.id})
ON CREATE SET
  session.conversation_id = conversation.id,
  session.external_id = row.external_id,
  session.started_at = row.started_at
SET session.next_idx = row.next_idx, session.last_active_at = row.last_active_at
MERGE (session)-[:PART_OF]->(conversation)
RETURN count(*) AS written
