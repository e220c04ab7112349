// The scores of a candidate, and which of the vectors have found it.
//
// $vectors  list<map>  {place, vector}: the vectors
places: places,
by_vector: vector IS NOT NULL,
cosine: 2 * coalesce(vector, coll.max(
  [one IN $vectors | vector.similarity.cosine(memory.embedding, one.vector)]
)) - 1,
bm25: bm25,
