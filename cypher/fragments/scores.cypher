// The scores of a candidate, and the vectors that found it; the cosine is the one to the nearest vector. On
// request what an item shows of it besides its text too, if it stands and its whole text is returned.
//
// $client_id  string     the client
// $vectors    list<map>  {place, vector}: the question's vectors, none or several
// $detailed   boolean    whether that is requested
// $longest    int        the number of characters of a text to return, and of metadata
places: places,
by_vector: vector IS NOT NULL,
cosine: coalesce(2 * vector - 1,
  // include exact_cosine
),
bm25: bm25,
details: CASE
  WHEN $detailed AND memory.active AND size(memory.search_text) <= $longest
    AND (memory:Message OR coalesce(size(memory.text), 0) <= $longest)
    AND coalesce(size(memory.metadata), 0) <= $longest
  THEN {
    // A message is searched by its text, which need not be read twice.
    text: CASE WHEN NOT memory:Message THEN nullIf(memory.text, memory.search_text) END,
    metadata: memory.metadata,
    tags: coalesce(memory.tags, []),
    session_external_id: COLLECT {
      MATCH (session:Session {client_id: $client_id, id: memory.session_id})
      RETURN session.external_id
    }[0],
    // More are not replaced while another statement searches. Those of a span are those of its reference.
    earlier: COLLECT {
      MATCH (memory)(()-[:SUPERSEDES]->(:Memory {client_id: $client_id})){1,4}(version:Memory)
      RETURN version.id

      UNION ALL

      MATCH (memory:Span)-[:PART_OF]->(:Reference {client_id: $client_id})
        (()-[:SUPERSEDES]->(:Memory {client_id: $client_id})){1,4}(version:Memory)
      RETURN version.id
    }
  }
END,
