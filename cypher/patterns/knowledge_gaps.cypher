CYPHER 25
// Questions without a sufficiently relevant result, the most frequent first. Questions with the same text, in
// any case, count together. Turns (`hyde`) are left out: they ask nothing, and find nothing also when their time
// is up or without a language model.
//
// title    Knowledge gaps
// example  {"since": "2026-01-01T00:00:00Z"}
//
// $client_id        string    the client
// $conversation_id  string    asked of this conversation only, '' for all [0..128 = ""]
// $since            datetime  asked then or later [= "beginning"]
// $until            datetime  and before then [= "end"]
// $least            int       the least number of times it was asked [1..100000 = 1]
// $limit            int       the maximum number of questions [1..1000 = 50]
//
// > question    string        the question as last asked
// > asked       int           the number of times it was asked
// > first_at    datetime      the first time
// > last_at     datetime      the last time
// > operations  list<string>  the operations that asked it
// > memory_ids  list<string>  the memories returned nevertheless, although too far away
MATCH (access:Access {client_id: $client_id, run_id: ''})
WHERE access.id IS NOT NULL // else no index is used
  AND access.at >= $since AND access.at < $until
  AND access.found = 0 AND access.operation <> 'hyde'
  AND NOT access.question IN ['', '*'] // an empty question and the one for everything
  AND ($conversation_id = '' OR access.conversation_id = $conversation_id)
WITH access
ORDER BY access.at, access.id
WITH toLower(trim(access.question)) AS asked, collect(access) AS accesses
WHERE size(accesses) >= $least
RETURN
  accesses[-1].question AS question,
  size(accesses) AS asked,
  accesses[0].at AS first_at,
  accesses[-1].at AS last_at,
  COLLECT {
    UNWIND accesses AS access
    RETURN DISTINCT access.operation AS operation
    ORDER BY operation
  } AS operations,
  COLLECT {
    UNWIND accesses AS access
    MATCH (access)-[:RETURNED]->(memory:Memory {client_id: $client_id})
    RETURN DISTINCT memory.id AS id
    ORDER BY id
    LIMIT 100
  } AS memory_ids
ORDER BY asked DESC, last_at DESC, question
LIMIT $limit
