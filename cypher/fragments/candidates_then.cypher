// The memories that both branches have found, as candidates; `passes` is what the indexes cannot decide: lists,
// and the times of those that share words.
WITH memory, collect(place) AS places, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  // include candidate
  // include scores
  passes: memory.client_id = $client_id
    // include values_in
    // include held_then
}) AS rows
