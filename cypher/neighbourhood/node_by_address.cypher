CYPHER 25
// The node of a client that an address means: the one with that id, memories first; else by label and id.
//
// $client_id   string  whose node
// $id          string  the address, taken as an id
// $label       string  the label that the address begins with, '' when it names none
// $own_id      string  what follows it
// $normalized  string  the same as an entity's normal form
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
