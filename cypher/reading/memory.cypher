CYPHER 25
// One memory as it is shown: what it does not have is null.
//
// $client_id  string    whose memory
// $id         string    its id
// $beginning  datetime  stands for no lower bound
// $end        datetime  stands for no upper bound
MATCH (memory:Memory {client_id: $client_id, id: $id})
OPTIONAL MATCH (session:Session {client_id: $client_id, id: memory.session_id})
RETURN
  memory.id AS id,
  memory.kind AS kind,
  memory.text AS text,
  memory.token_count AS token_count,
  memory.importance AS importance,
  memory.active AS active,
  memory.source_type AS source_type,
  nullIf(memory.source_id, '') AS source_id,
  nullIf(memory.conversation_id, '') AS conversation_id,
  nullIf(memory.session_id, '') AS session_id,
  session.external_id AS session_external_id,
  memory.external_id AS external_id,
  nullIf(memory.category, '') AS category,
  nullIf(memory.scope, '') AS scope,
  memory.occurred_at AS occurred_at,
  nullIf(memory.valid_at, $beginning) AS valid_at,
  nullIf(memory.invalid_at, $end) AS invalid_at,
  memory.created_at AS created_at,
  nullIf(memory.superseded_at, $end) AS superseded_at,
  memory.embedding_truncated AS embedding_truncated,
  memory.idx AS idx,
  memory.position AS position,
  memory.role AS role,
  memory.name AS name
