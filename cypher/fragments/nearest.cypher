// The given memories nearest to any of the vectors, by exact cosine, as candidates.
//
// $vectors  list<map>  {place, vector}: the vectors
// $limit    int        the maximum number
WITH memory, coll.max(
  [one IN $vectors | vector.similarity.cosine(memory.embedding, one.vector)]
) AS score
// A memory without an embedding comes last.
ORDER BY coalesce(score, -1.0) DESC, memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  // include candidate
  cosine: 2 * score - 1,
  by_vector: score IS NOT NULL
}) AS rows
