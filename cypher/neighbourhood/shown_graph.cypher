CYPHER 25
// Some nodes with their properties, and every edge of some types between them.
//
// $client_id   string        the client
// $keys        list<string>  the nodes' element ids, in order
// $tree        list<string>  the element ids of the edges by which they were reached
// $types       list<string>  the types of edges
// $hidden      list<string>  the properties to leave out
// $characters  int           the number of characters after which a text may be cut
// $quiet       int           the greatest number of edges of a node that is no hub: all are examined
// $hubs        int           the number of hubs, the first, among which edges are searched
UNWIND range(0, size($keys) - 1) AS place
MATCH (node)
WHERE elementId(node) = $keys[place] AND node.client_id = $client_id
WITH
  node,
  place,
  COUNT { (node)--() } <= $quiet AS quiet,
  [name IN keys(node) WHERE NOT name IN $hidden] AS names
ORDER BY place
WITH
  collect({
    key: elementId(node),
    labels: labels(node),
    names: names,
    values: [
      name IN names
      | CASE
        WHEN node[name] IS :: ZONED DATETIME THEN toString(node[name])
        WHEN node[name] IS :: STRING THEN left(node[name], $characters)
        ELSE node[name]
      END
    ]
  }) AS nodes,
  collect(node) AS shown,
  collect(CASE WHEN quiet THEN node END) AS quiet,
  collect(CASE WHEN NOT quiet THEN node END) AS hubs
CALL (shown, quiet, hubs) {
  CALL (shown, quiet, hubs) {
    UNWIND quiet AS here
    MATCH (here)-[edge]-(there)
    WHERE
      elementId(there) IN $keys
      AND there.client_id = $client_id
      AND type(edge) IN $types
    RETURN edge

    UNION

    UNWIND range(0, size(hubs[..$hubs]) - 2) AS one
    UNWIND range(one + 1, size(hubs[..$hubs]) - 1) AS other
    WITH hubs[one] AS here, hubs[other] AS there
    MATCH (here)-[edge]-(there)
    WHERE type(edge) IN $types
    RETURN edge

    UNION

    UNWIND $tree AS key
    MATCH (here)-[edge]->(there)
    WHERE
      elementId(edge) = key
      AND here.client_id = $client_id
      AND there.client_id = $client_id
      AND elementId(here) IN $keys
      AND elementId(there) IN $keys
    RETURN edge
  }
  RETURN collect(edge {
    key: elementId(edge),
    from_key: elementId(startNode(edge)),
    to_key: elementId(endNode(edge)),
    type: type(edge),
    names: keys(edge),
    values: [
      name IN keys(edge)
      | CASE
        WHEN edge[name] IS :: ZONED DATETIME THEN toString(edge[name])
        WHEN edge[name] IS :: STRING THEN left(edge[name], $characters)
        ELSE edge[name]
      END
    ]
  }) AS edges
}
RETURN collect({nodes: nodes, edges: edges, many_hubs: size(hubs) > $hubs}) AS rows
