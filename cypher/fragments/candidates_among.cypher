// The memories that both branches have found, as candidates; those pass that are active and have the
// requested values.
WITH memory, collect(place) AS places, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  // include candidate
  // include scores
  // A memory that was superseded during the search passes: its head replaces it in the answer.
  passes: (memory.active OR memory.invalidated_at IS NULL)
    // include values_in
}) AS rows
