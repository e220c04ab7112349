CYPHER 25
// The memories of any client and their passages that follow a given one, by client and id, with the texts to
// embed.
//
// $after_client  string  the client of the given one
// $after_id      string  its id
// $limit         int     the maximum number
// $longest       int     the number of characters of a text to embed
CALL () {
  MATCH (memory:Memory)
  WHERE memory.client_id = $after_client AND memory.id > $after_id
  RETURN memory AS node
  ORDER BY memory.client_id, memory.id
  LIMIT $limit

  UNION ALL

  MATCH (memory:Memory)
  WHERE memory.client_id > $after_client AND memory.id IS NOT NULL
  RETURN memory AS node
  ORDER BY memory.client_id, memory.id
  LIMIT $limit

  UNION ALL

  MATCH (passage:Passage)
  WHERE passage.client_id = $after_client AND passage.id > $after_id
  RETURN passage AS node
  ORDER BY passage.client_id, passage.id
  LIMIT $limit

  UNION ALL

  MATCH (passage:Passage)
  WHERE passage.client_id > $after_client AND passage.id IS NOT NULL
  RETURN passage AS node
  ORDER BY passage.client_id, passage.id
  LIMIT $limit
}
WITH node
ORDER BY node.client_id, node.id
LIMIT $limit
RETURN collect(node {
  .client_id, .id,
  kind: coalesce(node.kind, 'passage'),
  text: left(coalesce(node.text, node.search_text), $longest),
  search_text: left(coalesce(node.search_text, node.text), $longest),
  name: node.name,
  title: node.title
}) AS rows
