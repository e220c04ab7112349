CYPHER 25
// The memories about a person, a project or anything else with a name, by any of its names, in the order of
// time.
//
// title    Timeline
// example  {"name": "Project Beacon"}
//
// $client_id        string    the client
// $name             string    the name, as it is written [1..256]
// $name_normalized  string    the form in which equal names are equal
// $conversation_id  string    of this conversation only, '' for all [0..128 = ""]
// $since            datetime  from then on [= "beginning"]
// $until            datetime  and before then [= "end"]
// $superseded       boolean   whether to include replaced and ended memories [= true]
// $limit            int       the maximum number of memories, oldest first [1..1000 = 200]
//
// > at                   datetime      when it happened
// > kind                 string        the memory's kind
// > text                 string        its text, the first 500 characters
// > active               boolean       whether it is still active
// > conversation_id      string        its conversation; null where it has none
// > session_id           string        its session; null where it has none
// > memory_ids           list<string>  the memory
MATCH (given:Entity {client_id: $client_id, normalized: $name_normalized})
OPTIONAL MATCH (given)-[:ALIAS_OF]->(canonical:Entity {client_id: $client_id})
WITH coalesce(canonical, given) AS entity
MATCH (entity)(()<-[:ALIAS_OF]-(:Entity {client_id: $client_id})){0,1}(name:Entity)
MATCH (name)<-[:MENTIONS|NAMES]-(memory:Memory {client_id: $client_id})
WHERE $name <> ''
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  AND ($conversation_id = '' OR memory.conversation_id = $conversation_id)
  AND ($superseded OR memory.active = true)
WITH DISTINCT memory
RETURN
  memory.occurred_at AS at,
  memory.kind AS kind,
  substring(memory.text, 0, 500) AS text,
  memory.active AS active,
  nullIf(memory.conversation_id, '') AS conversation_id,
  nullIf(memory.session_id, '') AS session_id,
  [memory.id] AS memory_ids
ORDER BY at, memory.id
LIMIT $limit
