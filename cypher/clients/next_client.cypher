CYPHER 25
// The next client after another in the order of their ids, of any client, with its counts; no row after
// the last.
//
// $after  string        the id of the client before
// $kinds  list<string>  the kinds that are counted
CALL () {
  MATCH (memory:Memory)
  WHERE memory.client_id > $after AND memory.created_at IS NOT NULL
  RETURN memory.client_id AS client_id
  ORDER BY memory.client_id
  LIMIT 1
UNION ALL
  MATCH (conversation:Conversation)
  WHERE conversation.client_id > $after AND conversation.id IS NOT NULL
  RETURN conversation.client_id AS client_id
  ORDER BY conversation.client_id
  LIMIT 1
}
WITH min(client_id) AS client_id
WHERE client_id IS NOT NULL
CALL (client_id) {
  OPTIONAL MATCH (memory:Memory {client_id: client_id})
  WHERE memory.created_at IS NOT NULL
  RETURN memory.created_at AS last_written_at
  ORDER BY memory.client_id DESC, memory.created_at DESC
  LIMIT 1
}
CALL (client_id) {
  OPTIONAL MATCH (access:Access {client_id: client_id})
  WHERE access.at IS NOT NULL
  RETURN access.at AS last_read_at
  ORDER BY access.client_id DESC, access.at DESC
  LIMIT 1
}
CALL (client_id) {
  OPTIONAL MATCH (usage:Usage {client_id: client_id})
  RETURN usage {
    .memories, .bytes, .day, .tokens, counted_at: toString(usage.counted_at)
  } AS usage
}
RETURN
  client_id AS id,
  usage,
  last_written_at,
  last_read_at,
  COUNT {
    MATCH (conversation:Conversation {client_id: client_id})
    WHERE conversation.id IS NOT NULL
  } AS conversations,
  COLLECT {
    UNWIND $kinds AS kind
    RETURN {
      kind: kind,
      memories: COUNT {
        UNWIND [true, false] AS active
        MATCH (memory:Memory {client_id: client_id, active: active, kind: kind})
        WHERE memory.occurred_at IS NOT NULL AND memory.source_type IS NOT NULL
          AND memory.source_id IS NOT NULL AND memory.conversation_id IS NOT NULL
          AND memory.importance IS NOT NULL AND memory.id IS NOT NULL
      }
    }
  } AS counts
