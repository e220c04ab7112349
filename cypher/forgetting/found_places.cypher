CYPHER 25
// The properties of a client's nodes and edges that hold a text or an id, by a raw scan of all of them.
//
// $client_id  string        the client
// $written    list<string>  the forms of the text, or of its longest word, in lower case; none for an id
// $pattern    string        a pattern for values that hold the text; '' if the forms are those of all of it
// $ids        list<string>  the id; none for a text
// $vectors    list<string>  the properties with vectors, which are not read
// $limit      int           the maximum number of places
// Nodes and edges are searched in branches of their own, from which only what was found comes, and no value: a
// client may have millions of edges and long texts, of which rows would fill the memory of the transaction.
CALL () {
  MATCH (held {client_id: $client_id})
  UNWIND [key IN keys(held) WHERE NOT key IN $vectors] AS key
  WITH *
  WHERE any(one IN
    CASE WHEN held[key] IS :: LIST<STRING NOT NULL> THEN held[key] ELSE [toStringOrNull(held[key])] END
  WHERE
    any(id IN $ids WHERE one = id OR one CONTAINS '"' + id + '"') // inside JSON, too
    OR (any(form IN $written WHERE toLower(one) CONTAINS form) AND ($pattern = '' OR one =~ $pattern)))
  RETURN labels(held) AS labels, null AS type, key, held.id AS id

  UNION ALL

  MATCH (node {client_id: $client_id})-[held]->()
  UNWIND [key IN keys(held) WHERE NOT key IN $vectors] AS key
  WITH *
  WHERE any(one IN
    CASE WHEN held[key] IS :: LIST<STRING NOT NULL> THEN held[key] ELSE [toStringOrNull(held[key])] END
  WHERE
    any(id IN $ids WHERE one = id OR one CONTAINS '"' + id + '"') // inside JSON, too
    OR (any(form IN $written WHERE toLower(one) CONTAINS form) AND ($pattern = '' OR one =~ $pattern)))
  RETURN labels(node) AS labels, type(held) AS type, key, node.id AS id
}
WITH labels, type, key, id
ORDER BY labels, type, key, id
LIMIT $limit
RETURN collect({labels: labels, edge: type, property: key, id: id}) AS rows
