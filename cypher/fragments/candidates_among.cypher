// The memories that both branches have found, as candidates; those pass that are active and have the
// requested values.
WITH memory, collect(place) AS places, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  // include candidate
  // include scores
  passes: memory.active
    // include values_in
}) AS rows
