CYPHER 25
// Deletes a conversation, its sessions with their summaries, and the memories, reviews, reads and jobs that
// came in between; locked against writers.
//
// $client_id  string  whose conversation
// $id         string  its id
MATCH (conversation:Conversation {client_id: $client_id, id: $id})
SET conversation.locked = true
WITH conversation
// Deleted while this waited for the lock, it has no properties any more.
WHERE conversation.next_position IS NOT NULL
// Jobs go first: what a job writes that ends just now is waited for, and goes too.
CALL () {
  MATCH (job:Job {client_id: $client_id, conversation_id: $id})
  DETACH DELETE job
}
CALL () {
  MATCH (review:Review {client_id: $client_id, conversation_id: $id})
  // The index holds what has a time: without this line it is not used.
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
    // The index holds what has an external_id: without this line it is not used.
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
    // The index holds what has a version: without this line it is not used.
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
FOREACH (memory IN gone | DETACH DELETE memory)
FOREACH (session IN sessions | DETACH DELETE session)
DETACH DELETE conversation
RETURN size(sessions) AS sessions, size(gone) AS memories, entities
