CYPHER 25
// Memories of any client that follow one, by client and id, with what is embedded of them.
//
// $after_client  string  whose memory the one is
// $after_id      string  its id
// $limit         int     how many
// $longest       int     up to how many characters of a text are embedded
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
