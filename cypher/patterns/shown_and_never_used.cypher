CYPHER 25
// Memories that answers showed again and again but that were never put into a context, rated good or easy, or
// referred to by another memory. Runs count as answers.
//
// title    Shown and never used
// example  {"least": 5}
//
// $client_id  string    the client
// $since      datetime  shown then or later [= "beginning"]
// $until      datetime  and before then [= "end"]
// $least      int       the least number of times it was shown [1..100000 = 3]
// $kind       string    the kind, '' for all [|message|episode|fact|summary|reference|span = ""]
// $limit      int       the maximum number of memories [1..1000 = 50]
//
// > text        string        the memory's text, its first 500 characters
// > kind        string        its kind
// > shown       int           the number of times it was shown
// > best_rank   int           its best rank
// > last_at     datetime      when it was last shown
// > memory_ids  list<string>  the memory
MATCH (access:Access {client_id: $client_id})
WHERE access.run_id IS NOT NULL AND access.id IS NOT NULL // else no index is used
  AND access.at >= $since AND access.at < $until
MATCH (access)-[returned:RETURNED]->(memory:Memory {client_id: $client_id})
WHERE $kind = '' OR memory.kind = $kind
WITH
  memory,
  count(DISTINCT access) AS shown,
  min(returned.rank) AS best_rank,
  max(access.at) AS last_at
WHERE shown >= $least
  AND NOT EXISTS { (memory)<-[:HOLDS]-(:Context {client_id: $client_id}) }
  AND NOT EXISTS {
    (memory)<-[rated:RATED]-(:Review {client_id: $client_id})
    WHERE rated.rating IN ['good', 'easy']
  }
  AND NOT EXISTS {
    (memory)<-[:REFERENCES|REFINES|DERIVED_FROM]-(:Memory {client_id: $client_id})
  }
RETURN
  substring(memory.text, 0, 500) AS text,
  memory.kind AS kind,
  shown,
  best_rank,
  last_at,
  [memory.id] AS memory_ids
ORDER BY shown DESC, last_at DESC, memory.id
LIMIT $limit
