CYPHER 25
// The labels and properties of stored nodes of all clients: the first nodes of each label.
//
// $labels   list<string>  the labels
// $scanned  int           the number of nodes examined for each label
UNWIND $labels AS label
CALL (label) {
  MATCH (node:$(label))
  WITH node
  LIMIT $scanned
  RETURN collect(node) AS nodes
}
RETURN
  label,
  size(nodes) AS nodes,
  COLLECT { UNWIND nodes AS node RETURN DISTINCT labels(node) AS labels } AS combinations,
  COLLECT {
    UNWIND nodes AS node
    UNWIND keys(node) AS name
    WITH name, collect(DISTINCT valueType(node[name])) AS types, count(*) AS present
    ORDER BY name
    RETURN {name: name, types: types, present: present}
  } AS properties
