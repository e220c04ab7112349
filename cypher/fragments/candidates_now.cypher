// The memories that both branches have found, as candidates; every active one passes.
//
// $vectors  list<map>  {place, vector}: the question's vectors, none or several
WITH memory, collect(place) AS places, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  // include candidate
  // include scores
  // A memory that was superseded during the search passes: its head replaces it in the answer.
  passes: (memory.active OR memory.invalidated_at IS NULL)
}) AS rows
