CYPHER 25
// Deletes a conversation, its sessions with their summaries, and the memories, reviews, reads and jobs
// written meanwhile; locks out writers.
//
// $client_id  string  the client
// $id         string  its id
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
SET conversation.locked = true
WITH conversation
// A node that was deleted while this waited for the lock has no properties.
WHERE conversation.next_position IS NOT NULL
// Jobs go first: this waits for a job that is just ending, so that its writes are deleted too.
CALL () {
  MATCH (job:Job {client_id: $client_id, conversation_id: $id})
  DETACH DELETE job
}
CALL () {
  MATCH (review:Review {client_id: $client_id, conversation_id: $id})
  // The index only holds nodes with a time: without this line it is not used.
  WHERE review.at IS NOT NULL
  DETACH DELETE review
}
CALL () {
  MATCH (access:Access {client_id: $client_id, conversation_id: $id})
  // As above.
  WHERE access.at IS NOT NULL
  DETACH DELETE access
}
WITH
  conversation,
  COLLECT {
    MATCH (session:Session {client_id: $client_id, conversation_id: $id})
    // The index only holds nodes with an external_id: without this line it is not used.
    WHERE session.external_id IS NOT NULL
    RETURN session
  } AS sessions
WITH
  conversation,
  sessions,
  COLLECT {
    MATCH (memory:Memory {client_id: $client_id, conversation_id: $id})
    RETURN memory
    UNION
    UNWIND sessions AS session
    UNWIND ['session_summary', 'thread_summary', 'plan_summary'] AS source_type
    MATCH (memory:Summary
      {client_id: $client_id, source_type: source_type, source_id: session.id})
    // The index only holds nodes with a version: without this line it is not used.
    WHERE memory.version IS NOT NULL
    RETURN memory
  } AS gone
WITH
  conversation,
  sessions,
  gone,
  COLLECT {
    UNWIND gone AS memory
    MATCH (memory)-[:MENTIONS|NAMES]->(entity:Entity {client_id: $client_id})
    RETURN DISTINCT entity.normalized
  } AS entities
// include uncount
// include delete_passages
FOREACH (memory IN gone | DETACH DELETE memory)
FOREACH (session IN sessions | DETACH DELETE session)
DETACH DELETE conversation
RETURN size(sessions) AS sessions, size(gone) AS memories, entities
