// The given memories nearest to any of the vectors, by exact cosine, as candidates.
//
// $vectors  list<map>  {place, vector}: the vectors
// $limit    int        the maximum number
WITH memory, coll.max(
  [one IN $vectors | vector.similarity.cosine(memory.embedding, one.vector)]
) AS score
ORDER BY score DESC, memory.occurred_at DESC, memory.id
LIMIT $limit
RETURN collect(memory {
  // include candidate
  cosine: 2 * score - 1,
  by_vector: true
}) AS rows
