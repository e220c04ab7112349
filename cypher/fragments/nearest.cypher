// The given memories nearest to any of the vectors, by exact cosine, as candidates.
//
// $vectors  list<map>  {place, vector}: the vectors
// $limit    int        the maximum number
WITH memory,
  // include exact_cosine
  AS cosine
// A memory without an embedding comes last.
ORDER BY coalesce(cosine, -2.0) DESC, memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  // include candidate
  cosine: cosine,
  by_vector: cosine IS NOT NULL
}) AS rows
