CYPHER 25
// The next nodes of a label in the order of their keys, each with all that it has: its labels, properties and
// the edges that begin at it.
//
// $client_id  string        the client
// $label      string        the label; one branch for each
// $after      string        the key of the node before
// $limit      int           the number of nodes
// $hidden     list<string>  the vectors that are left out
CALL () {
  FILTER $label = 'Memory'
  MATCH (node:Memory {client_id: $client_id})
  WHERE node.id > $after
  RETURN node, node.id AS key
  ORDER BY node.client_id, node.id
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Passage'
  MATCH (node:Passage {client_id: $client_id})
  WHERE node.id > $after
  RETURN node, node.id AS key
  ORDER BY node.client_id, node.id
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Entity'
  MATCH (node:Entity {client_id: $client_id})
  WHERE node.normalized > $after
  RETURN node, node.normalized AS key
  ORDER BY node.client_id, node.normalized
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Session'
  MATCH (node:Session {client_id: $client_id})
  WHERE node.id > $after
  RETURN node, node.id AS key
  ORDER BY node.client_id, node.id
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Conversation'
  MATCH (node:Conversation {client_id: $client_id})
  WHERE node.id > $after
  RETURN node, node.id AS key
  ORDER BY node.client_id, node.id
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Context'
  MATCH (node:Context {client_id: $client_id})
  WHERE node.id > $after
  RETURN node, node.id AS key
  ORDER BY node.client_id, node.id
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Review'
  MATCH (node:Review {client_id: $client_id})
  WHERE node.id > $after
  RETURN node, node.id AS key
  ORDER BY node.client_id, node.id
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Access'
  MATCH (node:Access {client_id: $client_id})
  WHERE node.id > $after
  RETURN node, node.id AS key
  ORDER BY node.client_id, node.id
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Run'
  MATCH (node:Run {client_id: $client_id})
  WHERE node.id > $after
  RETURN node, node.id AS key
  ORDER BY node.client_id, node.id
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Job'
  MATCH (node:Job {client_id: $client_id})
  WHERE node.id > $after
    AND node.state IN ['queued', 'running']
    // All others are queued anew for a client that needs them.
    AND (node.conversation_id IS NOT NULL OR node.kind IN ['sweep_contexts', 'sweep_runs'])
  RETURN node, node.id AS key
  ORDER BY node.client_id, node.id
  LIMIT $limit

  UNION ALL

  FILTER $label = 'Client'
  MATCH (node:Client {client_id: $client_id})
  WHERE $after = ''
  RETURN node, node.client_id AS key
}
RETURN collect([
  labels(node),
  key,
  node {
    .*,
    // As vectors, which the driver reads as bytes: it needs fifty times as long for a list of numbers.
    embedding: CASE WHEN NOT 'embedding' IN $hidden
      THEN vector(node['embedding'], size(node['embedding']), FLOAT32) END,
    embedding_2: CASE WHEN NOT 'embedding_2' IN $hidden
      THEN vector(node['embedding_2'], size(node['embedding_2']), FLOAT32) END,
    whole_embedding: CASE WHEN NOT 'whole_embedding' IN $hidden
      THEN vector(node['whole_embedding'], size(node['whole_embedding']), FLOAT32) END
  },
  COLLECT {
    MATCH (node)-[edge]->(other {client_id: $client_id})
    WHERE NOT other:Hold
    RETURN [
      type(edge),
      CASE WHEN other:Memory THEN 'Memory' ELSE head(labels(other)) END,
      coalesce(other.id, other.normalized),
      properties(edge)
    ]
  }
]) AS rows
