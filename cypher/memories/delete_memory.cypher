CYPHER 25
// Deletes a memory with all its versions and, for a reference, their spans; links its neighbours. Its idx
// stays unused.
//
// $client_id  string  the client
// $id         string  its id
MATCH (memory:Memory {client_id: $client_id, id: $id})
OPTIONAL MATCH (before:Memory {client_id: $client_id})-[:NEXT]->(memory)
OPTIONAL MATCH (memory)-[:NEXT]->(after:Memory {client_id: $client_id})
FOREACH (_ IN CASE WHEN before IS NULL OR after IS NULL THEN [] ELSE [true] END |
  CREATE (before)-[:NEXT]->(after)
)
// The vector of its session as a whole was made of it too.
WITH memory, COLLECT {
  MATCH (memory)-[:PART_OF]->(session:Session {client_id: $client_id})
  RETURN session
} AS sessions
FOREACH (session IN sessions | SET session.whole_embedding = null, session.whole_model = null)
WITH memory
MATCH (memory)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(version:Memory)
WITH DISTINCT version
OPTIONAL MATCH (version)<-[:PART_OF]-(span:Span {client_id: $client_id})
WITH collect(DISTINCT version) + collect(DISTINCT span) AS gone
WITH
  gone,
  COLLECT {
    UNWIND gone AS memory
    MATCH (memory)-[:MENTIONS|NAMES]->(entity:Entity {client_id: $client_id})
    RETURN DISTINCT entity.normalized
  } AS entities
// include uncount
// include delete_passages
FOREACH (memory IN gone | DETACH DELETE memory)
RETURN size(gone) AS memories, entities
