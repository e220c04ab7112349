CYPHER 25
// Memories that contradict each other while both are active: neither was replaced or ended.
//
// title    Open contradictions
// example  {"limit": 20}
//
// $client_id        string  the client
// $conversation_id  string  one of them belongs to this conversation, '' for all [0..128 = ""]
// $limit            int     the maximum number of pairs [1..1000 = 50]
//
// > statement     string        the contradicting memory
// > contradicts   string        the contradicted memory
// > statement_at  datetime      the beginning of the valid time of the one
// > other_at      datetime      the beginning of the valid time of the other
// > noticed_at    datetime      when the link was made; null if unknown
// > memory_ids    list<string>  the one and the other
MATCH (one:Memory {client_id: $client_id})
WHERE one.conversation_id IS NOT NULL // else no index is used
  AND one.active = true
MATCH (one)-[edge:CONTRADICTS]->(other:Memory {client_id: $client_id})
WHERE other.active = true
  AND ($conversation_id = '' OR $conversation_id IN [one.conversation_id, other.conversation_id])
WITH one, other, max(edge.created_at) AS noticed_at
RETURN
  one.text AS statement,
  other.text AS contradicts,
  one.valid_at AS statement_at,
  other.valid_at AS other_at,
  noticed_at,
  [one.id, other.id] AS memory_ids
ORDER BY coalesce(noticed_at, statement_at) DESC, one.id, other.id
LIMIT $limit
