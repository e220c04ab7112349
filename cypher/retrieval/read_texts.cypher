CYPHER 25
// The texts that a reranker reads: of a memory one passage, or the beginning of its searched text.
//
// $client_id  string     the client
// $wanted     list<map>  [{id, place}]: the memories, and of long ones the place of the passage
// $longest    int        the characters of a text without a passage
UNWIND $wanted AS one
MATCH (memory:Memory {client_id: $client_id, id: one.id})
RETURN collect({
  id: memory.id,
  text: coalesce(
    COLLECT {
      MATCH (memory)<-[:PASSAGE_OF]-(passage:Passage {client_id: $client_id})
      WHERE passage.place = one.place
      RETURN passage.search_text
    }[0],
    left(coalesce(memory.search_text, memory.text), $longest),
    ''
  )
}) AS rows
