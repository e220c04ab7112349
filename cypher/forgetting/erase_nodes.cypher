CYPHER 25
// Deletes some nodes of a client, of whatever kind, in the given order.
//
// $client_id  string        the client
// $elements   list<string>  their addresses in this database
UNWIND $elements AS element
MATCH (node {client_id: $client_id})
WHERE elementId(node) = element
WITH
  node,
  'Memory' IN labels(node) AS is_memory,
  labels(node)[0] AS label,
  node.kind AS kind
DETACH DELETE node
WITH
  CASE WHEN is_memory THEN 'Memory' ELSE label END AS label,
  CASE WHEN is_memory THEN kind END AS kind,
  count(*) AS nodes
RETURN collect({label: label, kind: kind, nodes: nodes}) AS rows
