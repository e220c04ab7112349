CYPHER 25
// The end labels and properties of stored edges of all clients: the first edges of each type.
//
// $types    list<string>  the types
// $scanned  int           the number of edges examined for each type
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
