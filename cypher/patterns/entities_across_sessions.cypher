CYPHER 25
// Pairs of names that are mentioned in the same sessions; pairs with the most sessions come first.
//
// title    Entities across sessions
// example  {"least": 3}
//
// $client_id          string    the client
// $entity             string    pairs with this name only, '' for all [0..256 = ""]
// $entity_normalized  string    the form in which equal names are equal
// $conversation_id    string    sessions of this conversation only, '' for all [0..128 = ""]
// $since              datetime  sessions that began then or later [= "beginning"]
// $until              datetime  and before then [= "end"]
// $newest             int       the number of newest sessions to search [2..1000 = 500]
// $least              int       the least number of sessions of a pair [1..1000 = 2]
// $limit              int       the maximum number of pairs [1..1000 = 50]
//
// > one          string        a name
// > other        string        the name mentioned together with it
// > sessions     int           the number of sessions
// > first_at     datetime      when the first of them began
// > last_at      datetime      when the last began
// > session_ids  list<string>  the sessions, by time
// > memory_ids   list<string>  the messages that mention either, in those sessions
OPTIONAL MATCH (given:Entity {client_id: $client_id, normalized: $entity_normalized})
OPTIONAL MATCH (given)-[:ALIAS_OF]->(meant:Entity {client_id: $client_id})
WITH coalesce(meant, given) AS asked
MATCH (session:Session {client_id: $client_id})
WHERE session.id IS NOT NULL // else no index is used
  AND session.started_at >= $since AND session.started_at < $until
  AND ($conversation_id = '' OR session.conversation_id = $conversation_id)
WITH asked, session
ORDER BY session.started_at DESC, session.id
LIMIT $newest
MATCH (session)<-[:PART_OF]-(message:Message {client_id: $client_id})
MATCH (message)-[:MENTIONS]->(name:Entity {client_id: $client_id})
OPTIONAL MATCH (name)-[:ALIAS_OF]->(canonical:Entity {client_id: $client_id})
WITH asked, session, coalesce(canonical, name) AS entity, collect(DISTINCT message.id) AS ids
ORDER BY size(ids) DESC, entity.normalized
// Only the names that a session mentions most: pairs grow with the square.
WITH asked, session, collect({entity: entity, ids: ids})[..40] AS named
UNWIND named AS one
UNWIND named AS other
WITH asked, session, one, other
WHERE one.entity.normalized < other.entity.normalized
  // A name and a part of it, as in Beacon and Project Beacon, always occur together.
  AND NOT one.entity.normalized CONTAINS other.entity.normalized
  AND NOT other.entity.normalized CONTAINS one.entity.normalized
  AND ($entity = '' OR asked IN [one.entity, other.entity])
ORDER BY session.started_at, session.id
WITH
  one.entity AS one,
  other.entity AS other,
  collect(session) AS sessions,
  collect(one.ids + other.ids) AS ids
WHERE size(sessions) >= $least
RETURN
  one.name AS one,
  other.name AS other,
  size(sessions) AS sessions,
  sessions[0].started_at AS first_at,
  sessions[-1].started_at AS last_at,
  [session IN sessions | session.id] AS session_ids,
  COLLECT { UNWIND ids AS some UNWIND some AS id RETURN DISTINCT id } AS memory_ids
ORDER BY sessions DESC, last_at DESC, one, other
LIMIT $limit
