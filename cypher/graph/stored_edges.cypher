CYPHER 25
// The ends and properties of stored edges, of any client: of each type the first edges.
//
// $types    list<string>  which types
// $scanned  int           the number of edges of each that are looked at
UNWIND $types AS type
CALL (type) {
  MATCH (from)-[edge:$(type)]->(to)
  WITH from, edge, to
  LIMIT $scanned
  RETURN labels(from) AS from_labels, labels(to) AS to_labels, collect(edge) AS edges
}
RETURN
  type,
  from_labels,
  to_labels,
  size(edges) AS edges,
  COLLECT {
    UNWIND edges AS edge
    UNWIND keys(edge) AS name
    WITH name, collect(DISTINCT valueType(edge[name])) AS types, count(*) AS present
    ORDER BY name
    RETURN {name: name, types: types, present: present}
  } AS properties
