// What shares a word with the question, or is near enough to it.
//
// $least  float  the least score of the vector index, 0 to 1
WHERE bm25 IS NOT NULL OR vector >= $least
