CYPHER 25
// The session that a memory belongs to, '' for none, and the place that a message has in it.
//
// $client_id  string  whose memory
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
RETURN
  memory.kind AS kind,
  memory.session_id AS session_id,
  CASE WHEN memory.kind = 'message' THEN memory.idx ELSE null END AS idx
