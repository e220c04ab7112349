CYPHER 25
// The addresses of some nodes of a client, of whatever kind; jobs first: none is to write meanwhile.
//
// $client_id  string  the client
// $limit      int     the maximum number of each kind
// $kept_day   string  the day of which its count of tokens stays, such as 2026-11-24; '' for none
CALL () {
  MATCH (node:Job {client_id: $client_id}) WHERE node.kind IS NOT NULL AND node.key IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Passage {client_id: $client_id}) WHERE node.id IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Memory {client_id: $client_id}) WHERE node.id IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Session {client_id: $client_id}) WHERE node.id IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Conversation {client_id: $client_id}) WHERE node.id IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Entity {client_id: $client_id}) WHERE node.normalized IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Access {client_id: $client_id}) WHERE node.id IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Review {client_id: $client_id}) WHERE node.id IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Context {client_id: $client_id}) WHERE node.id IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Hold {client_id: $client_id})
  WHERE node.run_id IS NOT NULL AND node.operation_id IS NOT NULL
  RETURN node
  LIMIT $limit
  UNION ALL
  MATCH (node:Run {client_id: $client_id}) WHERE node.id IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Audit {client_id: $client_id}) WHERE node.id IS NOT NULL RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Usage {client_id: $client_id}) WHERE node.day <> $kept_day OR node.tokens = 0 RETURN node LIMIT $limit
  UNION ALL
  MATCH (node:Client {client_id: $client_id}) RETURN node LIMIT $limit
}
RETURN collect({element: elementId(node)}) AS rows
