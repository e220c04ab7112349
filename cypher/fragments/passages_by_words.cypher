// The branch of the passages that share the most words; the branch of the vectors follows. A client without
// passages costs next to nothing.
//
// $client_id  string      the client
// $vectors    list<map>   {place, vector}: the question's vectors, none or several
// $words      string      the Lucene query, restricted to the same scope
// $limit      int         the maximum number of each leg
FILTER
  // include has_passages
MATCH (passage:Passage)
  SEARCH passage IN (
    FULLTEXT INDEX passage_text FOR $words
    LIMIT $limit
  ) SCORE AS score
WHERE passage.client_id = $client_id
RETURN passage, null AS vector, score AS bm25

UNION ALL

FILTER
  // include has_passages
UNWIND $vectors AS one
