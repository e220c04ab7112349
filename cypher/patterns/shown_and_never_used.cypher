CYPHER 25
// Memories that answers showed again and again and that nobody put into a context, rated good or easy, or
// referred to from another memory. Runs count among the answers.
//
// title    Shown and never used
// example  {"least": 5}
//
// $client_id  string    whose memories
// $since      datetime  shown then or later [= "beginning"]
// $until      datetime  and before then [= "end"]
// $least      int       how often it was shown at least [1..100000 = 3]
// $kind       string    of which kind, '' for all; one of the choices [|message|episode|fact|summary|reference|span = ""]
// $limit      int       how many memories [1..1000 = 50]
//
// > text        string        the memory's text, its first 500 characters
// > kind        string        its kind
// > shown       int           how often it was shown
// > best_rank   int           the best place it had
// > last_at     datetime      when it was shown last
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
