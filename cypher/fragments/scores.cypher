// The scores of a candidate, and the vectors that found it; the cosine is the one to the nearest vector.
//
// $vectors  list<map>  {place, vector}: the question's vectors, none or several
places: places,
by_vector: vector IS NOT NULL,
cosine: 2 * coalesce(vector, coll.max(
  [one IN $vectors | vector.similarity.cosine(memory.embedding, one.vector)]
)) - 1,
bm25: bm25,
