// The cosine of a memory to the nearest of the vectors; null if it has no embedding.
//
// $vectors  list<map>  {place, vector}: the vectors
1 - coll.min([one IN $vectors | vector_distance(
  vector(memory.embedding, size(one.vector), FLOAT32), vector(one.vector, size(one.vector), FLOAT32), COSINE
)])
