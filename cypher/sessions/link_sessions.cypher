CYPHER 25
// Joins a session to those that it is related to. What it was joined to before goes to the version of its
// summary with which that was written; a link that was there before keeps since when it is known.
//
// $client_id   string        whose sessions
// $session_id  string        the session that was summarized just now
// $summary_id  string        its summary, written by this transaction
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
OPTIONAL MATCH (:Memory {client_id: $client_id, id: $summary_id})-[:SUPERSEDES]->
  (version:Memory {client_id: $client_id})
CALL (session, version) {
  MATCH (session)-[old:RELATES_TO]->(other:Session {client_id: $client_id})
  CALL (old, other, version) {
    FILTER version IS NOT NULL
    CREATE (version)-[kept:RELATES_TO]->(other)
    SET kept = properties(old)
  }
  WITH old, {id: other.id, basis: old.basis, created_at: old.created_at} AS known
  DELETE old
  RETURN collect(known) AS before
}
UNWIND $rows AS row
UNWIND [other IN sessions WHERE other.id = row.id] AS other
CREATE (session)-[:RELATES_TO {
  basis: row.basis, score: row.score, entities: row.entities,
  created_at: coalesce(
    [known IN before WHERE known.id = row.id AND known.basis = row.basis][0].created_at, $now
  )
}]->(other)
RETURN count(*) AS written
