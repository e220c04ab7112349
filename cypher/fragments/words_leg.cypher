// The memories that share the most words with a question.
//
// $client_id  string  the client
// $words      string  the Lucene query, restricted to the same scope
// $limit      int     the maximum number of each leg
MATCH (memory:Memory)
  SEARCH memory IN (
    FULLTEXT INDEX memory_text FOR $words
    LIMIT $limit
  ) SCORE AS score
WHERE memory.client_id = $client_id
