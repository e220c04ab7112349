// The memories that share most words with a question.
//
// $client_id  string  whose memories
// $words      string  the Lucene query, inside the same scope
// $limit      int     how many of each leg
MATCH (memory:Memory)
  SEARCH memory IN (
    FULLTEXT INDEX memory_text FOR $words
    LIMIT $limit
  ) SCORE AS score
WHERE memory.client_id = $client_id
