CYPHER 25
// Creates the new sessions and advances the counters of all sessions written to.
//
// $client_id        string     the client
// $conversation_id  string     the conversation, locked by this transaction
// $next_position    int        the conversation's next position afterwards
// $sessions         list<map>  {id, external_id, next_idx, started_at, last_active_at}
MATCH (conversation:Conversation {client_id: $client_id, id: $conversation_id})
SET conversation.next_position = $next_position
WITH conversation
UNWIND $sessions AS row
MERGE (session:Session {client_id: $client_id, id: row.id})
ON CREATE SET
  session.conversation_id = $conversation_id,
  session.external_id = row.external_id,
  session.started_at = row.started_at
SET session.next_idx = row.next_idx, session.last_active_at = row.last_active_at
MERGE (session)-[:PART_OF]->(conversation)
RETURN count(*) AS written
