CYPHER 25
// Joins a session to those that it is related to, in the place of what it was joined to before.
//
// $client_id   string        whose sessions
// $session_id  string        the session that was summarized just now
// $ids         list<string>  it and the others, sorted, so that writers never wait in a ring
// $rows        list<map>     {id, basis, score, entities?}
// $now         datetime      now
UNWIND $ids AS id
MATCH (session:Session {client_id: $client_id, id: id})
SET session.locked = true
WITH session
// Deleted while this waited for the lock, it has no properties any more.
WHERE session.next_idx IS NOT NULL
WITH collect(session) AS sessions
WITH sessions, [session IN sessions WHERE session.id = $session_id][0] AS session
WHERE session IS NOT NULL
CALL (session) {
  MATCH (session)-[old:RELATES_TO]->(:Session {client_id: $client_id})
  DELETE old
}
UNWIND $rows AS row
UNWIND [other IN sessions WHERE other.id = row.id] AS other
CREATE (session)-[:RELATES_TO {
  basis: row.basis, score: row.score, entities: row.entities, created_at: $now
}]->(other)
RETURN count(*) AS written
