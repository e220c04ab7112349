// The memories of the passages that both branches have found, as candidates with these; those pass that
// have the requested values and held at the requested times.
//
// $client_id  string     the client
// $vectors    list<map>  {place, vector}: the question's vectors, none or several
// $now_only   boolean    whether no time is requested
WITH passage, max(vector) AS vector, max(bm25) AS bm25
MATCH (passage)-[:PASSAGE_OF]->(memory:Memory {client_id: $client_id})
WITH memory, max(vector) IS NOT NULL AS near, collect({
  place: passage.place,
  start: passage.start,
  end: passage.end,
  by_vector: vector IS NOT NULL,
  cosine: coalesce(2 * vector - 1,
    // include exact_cosine(passage)
  ),
  bm25: bm25,
  text: CASE WHEN bm25 IS NOT NULL THEN passage.search_text END
}) AS passages
RETURN collect(memory {
  // include candidate
  by_vector: near,
  passages: passages,
  passes: true
    // include values_in
    // A memory that was superseded during the search passes: its head replaces it in the answer.
    AND ($now_only AND memory.invalidated_at IS NULL OR (true
      // include held_then
    )),
  cosine:
    // include exact_cosine
}) AS rows
