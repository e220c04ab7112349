CYPHER 25
// The rank of a memory among all that pass any filters, by exact cosine: all memories of the kinds are examined.
//
// $client_id  string       the client
// $id         string       its id
// $embedding  list<float>  the question's vector
MATCH (mine:Memory {client_id: $client_id, id: $id})
WITH mine, vector.similarity.cosine(mine.embedding, $embedding) AS score
// include listing
  // include values_in
  // include held_then
RETURN 2 * score - 1 AS cosine,
  1 + sum(CASE WHEN vector.similarity.cosine(memory.embedding, $embedding) > score THEN 1 ELSE 0 END) AS rank
