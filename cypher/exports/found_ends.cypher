CYPHER 25
// The nodes of a label with these keys, by the addresses that they have in this database.
//
// $client_id  string        the client
// $label      string        the label; one branch for each that edges begin or end at
// $keys       list<string>  the keys
CALL () {
  FILTER $label = 'Memory'
  UNWIND $keys AS key
  MATCH (node:Memory {client_id: $client_id, id: key})
  RETURN key, node

  UNION ALL

  FILTER $label = 'Passage'
  UNWIND $keys AS key
  MATCH (node:Passage {client_id: $client_id, id: key})
  RETURN key, node

  UNION ALL

  FILTER $label = 'Entity'
  UNWIND $keys AS key
  MATCH (node:Entity {client_id: $client_id, normalized: key})
  RETURN key, node

  UNION ALL

  FILTER $label = 'Session'
  UNWIND $keys AS key
  MATCH (node:Session {client_id: $client_id, id: key})
  RETURN key, node

  UNION ALL

  FILTER $label = 'Conversation'
  UNWIND $keys AS key
  MATCH (node:Conversation {client_id: $client_id, id: key})
  RETURN key, node

  UNION ALL

  FILTER $label = 'Context'
  UNWIND $keys AS key
  MATCH (node:Context {client_id: $client_id, id: key})
  RETURN key, node

  UNION ALL

  FILTER $label = 'Review'
  UNWIND $keys AS key
  MATCH (node:Review {client_id: $client_id, id: key})
  RETURN key, node

  UNION ALL

  FILTER $label = 'Access'
  UNWIND $keys AS key
  MATCH (node:Access {client_id: $client_id, id: key})
  RETURN key, node

  UNION ALL

  FILTER $label = 'Run'
  UNWIND $keys AS key
  MATCH (node:Run {client_id: $client_id, id: key})
  RETURN key, node
}
RETURN collect({key: key, element: elementId(node)}) AS rows
