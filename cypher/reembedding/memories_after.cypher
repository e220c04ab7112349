CYPHER 25
// The memories of any client that follow a given one, by client and id, with the texts to embed.
//
// $after_client  string  the client of the given memory
// $after_id      string  its id
// $limit         int     the maximum number
// $longest       int     the number of characters of a text to embed
CALL () {
  MATCH (memory:Memory)
  WHERE memory.client_id = $after_client AND memory.id > $after_id
  RETURN memory
  ORDER BY memory.client_id, memory.id
  LIMIT $limit

  UNION ALL

  MATCH (memory:Memory)
  WHERE memory.client_id > $after_client AND memory.id IS NOT NULL
  RETURN memory
  ORDER BY memory.client_id, memory.id
  LIMIT $limit
}
WITH memory
ORDER BY memory.client_id, memory.id
LIMIT $limit
RETURN collect(memory {
  .client_id, .id, .kind,
  text: left(memory.text, $longest),
  search_text: left(memory.search_text, $longest),
  name: memory.name,
  title: memory.title
}) AS rows
