CYPHER 25
// The texts of some memories, and the names of their sessions; of long ones the passages around a hit instead.
//
// $client_id  string        the client
// $named      list<string>  the ids of memories of which no text is wanted, only whether they stand
// $around     map           {id: {first, last}}: the places of the passages that are wanted of a long memory
// $longest    int           the number of characters of a text, of which the rest is left out
// include heads
WITH memory, chain, NOT chain[0] IN $named AS has_text
OPTIONAL MATCH (session:Session {
  client_id: $client_id, id: CASE WHEN has_text THEN memory.session_id END
})
WITH memory, chain, has_text, session, $around[memory.id] AS wanted
RETURN collect(CASE WHEN has_text THEN memory {
  .id, .metadata,
  tags: coalesce(memory.tags, []),
  text: CASE WHEN wanted IS NULL THEN left(coalesce(memory.text, memory.search_text, ''), $longest) ELSE '' END,
  session_external_id: session.external_id,
  parts: COLLECT {
    MATCH (memory)<-[:PASSAGE_OF]-(passage:Passage {client_id: $client_id})
    WHERE wanted IS NOT NULL AND passage.place >= wanted.first AND passage.place <= wanted.last
    RETURN passage {.place, .start, .end, text: coalesce(passage.search_text, '')}
    ORDER BY passage.place
  },
  bytes: CASE WHEN wanted IS NOT NULL THEN COLLECT {
    MATCH (memory)<-[:PASSAGE_OF]-(passage:Passage {client_id: $client_id})
    RETURN max(passage.end) + CASE WHEN memory.passages_due THEN 1 ELSE 0 END
  }[0] END,
  // include head
} ELSE memory {
  .id,
  has_text: false,
  // include head
} END) AS rows
