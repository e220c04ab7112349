CYPHER 25
// Counts the nodes of a client, by label, and memories by kind.
//
// $client_id  string        the client
// $kinds      list<string>  the kinds of memories
CALL () {
  UNWIND $kinds AS kind
  UNWIND [true, false] AS active
  MATCH (memory:Memory {client_id: $client_id, active: active, kind: kind})
  WHERE memory.occurred_at IS NOT NULL AND memory.source_type IS NOT NULL
    AND memory.source_id IS NOT NULL AND memory.conversation_id IS NOT NULL
    AND memory.importance IS NOT NULL AND memory.id IS NOT NULL // all properties: else no index is used
  RETURN 'Memory' AS label, kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Passage {client_id: $client_id}) WHERE node.id IS NOT NULL
  RETURN 'Passage' AS label, null AS kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Session {client_id: $client_id}) WHERE node.id IS NOT NULL
  RETURN 'Session' AS label, null AS kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Conversation {client_id: $client_id}) WHERE node.id IS NOT NULL
  RETURN 'Conversation' AS label, null AS kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Entity {client_id: $client_id}) WHERE node.normalized IS NOT NULL
  RETURN 'Entity' AS label, null AS kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Access {client_id: $client_id}) WHERE node.id IS NOT NULL
  RETURN 'Access' AS label, null AS kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Review {client_id: $client_id}) WHERE node.id IS NOT NULL
  RETURN 'Review' AS label, null AS kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Context {client_id: $client_id}) WHERE node.id IS NOT NULL
  RETURN 'Context' AS label, null AS kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Run {client_id: $client_id}) WHERE node.id IS NOT NULL
  RETURN 'Run' AS label, null AS kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Job {client_id: $client_id}) WHERE node.kind IS NOT NULL AND node.key IS NOT NULL
  RETURN 'Job' AS label, null AS kind, count(*) AS nodes
  UNION ALL
  MATCH (node:Audit {client_id: $client_id}) WHERE node.id IS NOT NULL
  RETURN 'Audit' AS label, null AS kind, count(*) AS nodes
}
WITH label, kind, sum(nodes) AS nodes
RETURN collect({label: label, kind: kind, nodes: nodes}) AS rows
