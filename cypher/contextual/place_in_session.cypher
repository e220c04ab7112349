CYPHER 25
// The session of a memory, '' for none, and the place of a message in it.
//
// $client_id  string  the client
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
RETURN
  memory.kind AS kind,
  memory.session_id AS session_id,
  CASE WHEN memory.kind = 'message' THEN memory.idx ELSE null END AS idx
