// The memories that both branches have found, as candidates; those pass that are active and have the
// requested values.
WITH memory, collect(place) AS places, max(vector) AS vector, max(bm25) AS bm25
// include near_enough
WITH memory, places, vector, bm25,
  // A memory that was superseded during the search passes: its head replaces it in the answer.
  (memory.active OR memory.invalidated_at IS NULL)
    // include values_in
  AS passes
WITH collect(CASE WHEN $longest < 0 THEN memory {
  // include ranked
  passes: passes
} ELSE memory {
  // include candidate
  // include scores
  passes: passes
} END) AS rows
RETURN rows,
  // include has_passages
  AS has_passages
