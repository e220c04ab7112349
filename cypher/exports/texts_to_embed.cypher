CYPHER 25
// A client's memories and passages without a vector that follow a given id, with the texts to embed.
//
// $client_id  string  the client
// $after      string  the id
// $limit      int     the maximum number
// $longest    int     the number of characters of a text to embed
// $property   string  the property of the vectors
CALL () {
  MATCH (memory:Memory {client_id: $client_id})
  WHERE memory.id > $after AND memory[$property] IS NULL
  RETURN memory AS node
  // As in the index.
  ORDER BY memory.client_id, memory.id
  LIMIT $limit

  UNION ALL

  MATCH (passage:Passage {client_id: $client_id})
  WHERE passage.id > $after AND passage[$property] IS NULL
  RETURN passage AS node
  // As in the index.
  ORDER BY passage.client_id, passage.id
  LIMIT $limit
}
WITH node
ORDER BY node.id
LIMIT $limit
RETURN collect(node {
  .client_id, .id,
  kind: coalesce(node.kind, 'passage'),
  text: left(coalesce(node.text, node.search_text), $longest),
  search_text: left(coalesce(node.search_text, node.text), $longest),
  name: node.name,
  title: node.title
}) AS rows
