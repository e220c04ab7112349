CYPHER 25
// The node of a client at an address: the one with that id, memories first, else the one with that label and
// id.
//
// $client_id   string  the client
// $id          string  the address, taken as an id
// $label       string  the label at the beginning of the address, '' for none
// $own_id      string  the rest of the address
// $normalized  string  the rest as the normal form of an entity
CALL () {
  MATCH (node:Memory {client_id: $client_id})
  WHERE node.id IN [$id, $own_id] AND (node.id = $id OR $label = 'Memory')
  RETURN node, node.id <> $id AS by_label, 0 AS place

  UNION ALL

  MATCH (node:Session {client_id: $client_id})
  WHERE node.id IN [$id, $own_id] AND (node.id = $id OR $label = 'Session')
  RETURN node, node.id <> $id AS by_label, 1 AS place

  UNION ALL

  MATCH (node:Conversation {client_id: $client_id})
  WHERE node.id IN [$id, $own_id] AND (node.id = $id OR $label = 'Conversation')
  RETURN node, node.id <> $id AS by_label, 2 AS place

  UNION ALL

  MATCH (node:Run {client_id: $client_id})
  WHERE node.id IN [$id, $own_id] AND (node.id = $id OR $label = 'Run')
  RETURN node, node.id <> $id AS by_label, 3 AS place

  UNION ALL

  MATCH (node:Review {client_id: $client_id})
  WHERE node.id IN [$id, $own_id] AND (node.id = $id OR $label = 'Review')
  RETURN node, node.id <> $id AS by_label, 4 AS place

  UNION ALL

  MATCH (node:Context {client_id: $client_id})
  WHERE node.id IN [$id, $own_id] AND (node.id = $id OR $label = 'Context')
  RETURN node, node.id <> $id AS by_label, 5 AS place

  UNION ALL

  MATCH (node:Access {client_id: $client_id})
  WHERE node.id IN [$id, $own_id] AND (node.id = $id OR $label = 'Access')
  RETURN node, node.id <> $id AS by_label, 6 AS place

  UNION ALL

  MATCH (node:Job {client_id: $client_id})
  WHERE node.id IN [$id, $own_id] AND (node.id = $id OR $label = 'Job')
  RETURN node, node.id <> $id AS by_label, 7 AS place

  UNION ALL

  FILTER $label = 'Entity'
  MATCH (node:Entity {client_id: $client_id})
  WHERE node.normalized IN [$own_id, $normalized]
  RETURN node, true AS by_label, CASE WHEN node.normalized = $own_id THEN 8 ELSE 9 END AS place
}
ORDER BY by_label, place
LIMIT 1
RETURN elementId(node) AS key
