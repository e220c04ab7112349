CYPHER 25
// The addresses of some recorded reads of a client.
//
// $client_id  string  the client
// $limit      int     the maximum number
MATCH (node:Access {client_id: $client_id})
WHERE node.id IS NOT NULL
WITH node
LIMIT $limit
RETURN collect({element: elementId(node)}) AS rows
