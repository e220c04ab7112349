CYPHER 25
// The entities that a session shares with few others, by any of their names, each with those others; speakers
// are not counted.
//
// $client_id      string  the client
// $session_id     string  the session
// $most_mentions  int     the greatest number of mentions of an entity that is examined
// $most_sessions  int     the maximum number of other sessions of an entity
MATCH (session:Session {client_id: $client_id, id: $session_id})
WITH session, COLLECT {
  MATCH (session)<-[:PART_OF]-(said:Message {client_id: $client_id})
  WHERE said.name IS NOT NULL
  RETURN DISTINCT toLower(said.name)
} AS speakers
MATCH (session)<-[:PART_OF|SUMMARIZES]-(memory:Memory)-[:MENTIONS]->(name:Entity)
WHERE memory.client_id = $client_id AND memory.active = true AND name.client_id = $client_id
OPTIONAL MATCH (name)-[:ALIAS_OF]->(canonical:Entity {client_id: $client_id})
WITH DISTINCT speakers, coalesce(canonical, name) AS entity
WITH speakers, entity, [entity] + COLLECT {
  MATCH (entity)<-[:ALIAS_OF]-(alias:Entity {client_id: $client_id})
  RETURN alias
} AS names
WITH entity, names, COLLECT {
  UNWIND names AS name
  RETURN COUNT { (name)<-[:MENTIONS]-() }
} AS mentions, any(name IN names WHERE name.normalized IN speakers) AS speaks
WHERE NOT speaks AND reduce(sum = 0, one IN mentions | sum + one) <= $most_mentions
WITH entity, COLLECT {
  UNWIND names AS name
  MATCH (name)<-[:MENTIONS]-(other:Memory)
  WHERE other.client_id = $client_id AND other.active = true
    AND other.session_id <> '' AND other.session_id <> $session_id
  RETURN DISTINCT other.session_id AS session_id
  ORDER BY session_id
} AS sessions
WHERE size(sessions) > 0 AND size(sessions) <= $most_sessions
WITH entity, sessions
ORDER BY entity.normalized
RETURN collect({name: entity.name, sessions: sessions}) AS rows
