CYPHER 25
// The properties of a client's nodes and edges that hold a text or an id, by a raw scan of all of them.
//
// $client_id  string        the client
// $written    list<string>  the forms of the text's longest word, in lower case; none for an id
// $pattern    string        a pattern for values that hold the text
// $ids        list<string>  the id; none for a text
// $vectors    list<string>  the properties with vectors, which are not read
// $limit      int           the maximum number of places
MATCH (node {client_id: $client_id})
CALL (node) {
  RETURN labels(node) AS labels, null AS type, node AS held

  UNION ALL

  MATCH (node)-[edge]->()
  RETURN labels(node) AS labels, type(edge) AS type, edge AS held
}
UNWIND [key IN keys(held) WHERE NOT key IN $vectors] AS key
WITH node, labels, type, key, held
// No row carries a value: of a store with long texts they would fill the memory of the transaction.
WHERE any(one IN
  CASE WHEN held[key] IS :: LIST<STRING NOT NULL> THEN held[key] ELSE [toStringOrNull(held[key])] END
WHERE
  any(id IN $ids WHERE one = id OR one CONTAINS '"' + id + '"') // inside JSON, too
  OR (any(form IN $written WHERE toLower(one) CONTAINS form) AND one =~ $pattern))
WITH labels, type, key, node.id AS id
ORDER BY labels, type, key, id
LIMIT $limit
RETURN collect({labels: labels, edge: type, property: key, id: id}) AS rows
