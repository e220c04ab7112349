CYPHER 25
// Questions to which nothing was found that is relevant enough, those that were asked most first. Questions of
// one text count together, whatever their case.
//
// title    Knowledge gaps
// example  {"since": "2026-01-01T00:00:00Z"}
//
// $client_id        string    whose questions
// $conversation_id  string    asked of this conversation only, '' for all [0..128 = ""]
// $since            datetime  asked then or later [= "beginning"]
// $until            datetime  and before then [= "end"]
// $least            int       how often it was asked at least [1..100000 = 1]
// $limit            int       how many questions [1..1000 = 50]
//
// > question    string        as it was asked last
// > asked       int           how often
// > first_at    datetime      when first
// > last_at     datetime      when last
// > operations  list<string>  in which ways
// > memory_ids  list<string>  what was shown nevertheless, for all that it was too far away
MATCH (access:Access {client_id: $client_id, run_id: ''})
WHERE access.id IS NOT NULL // else no index is used
  AND access.at >= $since AND access.at < $until
  AND access.found = 0
  AND NOT access.question IN ['', '*'] // which ask for nothing, and for everything
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
