CYPHER 25
// The recorded operations of a run, newest first.
//
// $client_id  string    the client
// $id         string    its id
// $before     datetime  recorded before this time
// $before_id  string    and, at that time, with a lower id
// $limit      int       the maximum number
MATCH (access:Access {client_id: $client_id, run_id: $id})
USING INDEX access:Access(client_id, run_id, at, id)
WHERE access.at <= $before AND access.id IS NOT NULL // else no index is used
  // With OR the index may be read twice, and whole.
  AND CASE WHEN access.at = $before THEN access.id < $before_id ELSE true END
WITH access
// As in the index.
ORDER BY access.client_id DESC, access.run_id DESC, access.at DESC, access.id DESC
LIMIT $limit
WITH
  access,
  COLLECT {
    MATCH (access)-[returned:RETURNED]->(memory:Memory {client_id: $client_id})
    RETURN returned {memory_id: memory.id, .rank, .score, .tokens}
    ORDER BY returned.rank
  } AS returned,
  COLLECT {
    MATCH (access)-[:WROTE]->(memory:Memory {client_id: $client_id})
    RETURN memory.id
    ORDER BY memory.id
  } AS wrote
ORDER BY access.at DESC, access.id DESC
RETURN collect(access {
  .id,
  session_id: access.run_id,
  .operation,
  timestamp: toString(access.at),
  tokens_consumed: access.tokens,
  .duration_ms,
  .error,
  .params,
  // A subcall's answer is the id of its child.
  child_session_id: CASE access.operation WHEN 'subcall' THEN access.answer END,
  returned: returned,
  wrote: wrote
}) AS rows
