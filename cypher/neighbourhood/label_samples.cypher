CYPHER 25
// The number of a client's nodes by label, with a sample that is spread evenly over the nodes of each label.
//
// $client_id   string        the client
// $kinds       list<map>     {kind, label}: the kinds of memories and their labels
// $counted     int           the maximum number of nodes of a label to count
// $sampled     int           the number of nodes of a label whose edges are examined
// $described   int           the number of nodes and edges whose properties are examined
// $edges       int           the number of edges examined for each node
// $hidden      list<string>  the properties that are not shown
// $examples    int           the number of values of a property that are shown
// $characters  int           the length at which such a value is cut
// Each label is read by an index that begins with the client.
CALL () {
  // The index is used only if each of its properties is named.
  UNWIND $kinds AS row
  RETURN row.label AS label, COLLECT {
    MATCH (node:Memory {client_id: $client_id, kind: row.kind})
    WHERE node.active IN [false, true]
      AND node.occurred_at IS NOT NULL
      AND node.source_type IS NOT NULL
      AND node.source_id IS NOT NULL
      AND node.conversation_id IS NOT NULL
      AND node.importance IS NOT NULL
      AND node.id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Passage' AS label, COLLECT {
    MATCH (node:Passage {client_id: $client_id})
    WHERE node.id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Session' AS label, COLLECT {
    MATCH (node:Session {client_id: $client_id})
    WHERE node.id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Conversation' AS label, COLLECT {
    MATCH (node:Conversation {client_id: $client_id})
    WHERE node.id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Run' AS label, COLLECT {
    MATCH (node:Run {client_id: $client_id})
    WHERE node.id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Access' AS label, COLLECT {
    MATCH (node:Access {client_id: $client_id})
    WHERE node.id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Review' AS label, COLLECT {
    MATCH (node:Review {client_id: $client_id})
    WHERE node.id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Context' AS label, COLLECT {
    MATCH (node:Context {client_id: $client_id})
    WHERE node.id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Job' AS label, COLLECT {
    MATCH (node:Job {client_id: $client_id})
    WHERE node.id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Entity' AS label, COLLECT {
    MATCH (node:Entity {client_id: $client_id})
    WHERE node.normalized IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Hold' AS label, COLLECT {
    MATCH (node:Hold {client_id: $client_id})
    WHERE node.run_id IS NOT NULL AND node.operation_id IS NOT NULL
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Client' AS label, COLLECT {
    MATCH (node:Client {client_id: $client_id})
    RETURN node
    LIMIT $counted + 1
  } AS nodes

  UNION ALL

  RETURN 'Usage' AS label, COLLECT {
    MATCH (node:Usage {client_id: $client_id})
    RETURN node
    LIMIT $counted + 1
  } AS nodes
}
WITH
  label,
  size(nodes) AS count,
  // The last of them only shows that there are more.
  [place IN range(0, size(nodes) - 1, 1 + (size(nodes) - 1) / $sampled) | nodes[place]] AS sample
WITH
  label,
  count,
  sample,
  [place IN range(0, size(sample) - 1, 1 + (size(sample) - 1) / $described) | sample[place]] AS few
RETURN
  label,
  count,
  size(sample) AS sampled,
  size(few) AS described,
  COLLECT {
    UNWIND few AS node
    UNWIND keys(node) AS name
    WITH node, name
    WHERE NOT name IN $hidden
    WITH
      name,
      valueType(node[name]) AS value_type,
      CASE
        WHEN node[name] IS :: ZONED DATETIME THEN toString(node[name])
        WHEN node[name] IS :: STRING THEN left(node[name], $characters)
        WHEN node[name] IS :: LIST<ANY> THEN node[name][..$examples]
        ELSE node[name]
      END AS value
    WITH
      name,
      collect(DISTINCT value_type) AS types,
      count(*) AS present,
      collect(DISTINCT value)[..$examples] AS examples
    ORDER BY name
    RETURN {name: name, types: types, present: present, examples: examples}
  } AS properties,
  COLLECT {
    UNWIND sample AS node
    CALL (node) {
      MATCH (node)-[edge]->(there)
      RETURN edge, there
      LIMIT $edges
    }
    WITH node, edge, there
    WHERE there.client_id = $client_id
    WITH
      node,
      type(edge) AS type,
      head([one IN labels(there) WHERE one <> 'Memory']) AS to,
      collect(edge) AS found
    WITH
      type,
      to,
      sum(size(found)) AS number,
      max(size(found)) AS most,
      collect(head(found))[..$described] AS some_edges
    ORDER BY type, to
    RETURN {
      type: type,
      to: to,
      count: number,
      most: most,
      described: size(some_edges),
      properties: COLLECT {
        UNWIND some_edges AS edge
        UNWIND keys(edge) AS name
        WITH
          name,
          valueType(edge[name]) AS value_type,
          CASE
            WHEN edge[name] IS :: ZONED DATETIME THEN toString(edge[name])
            WHEN edge[name] IS :: STRING THEN left(edge[name], $characters)
            WHEN edge[name] IS :: LIST<ANY> THEN edge[name][..$examples]
            ELSE edge[name]
          END AS value
        WITH
          name,
          collect(DISTINCT value_type) AS types,
          count(*) AS present,
          collect(DISTINCT value)[..$examples] AS examples
        ORDER BY name
        RETURN {name: name, types: types, present: present, examples: examples}
      }
    }
  } AS edges
