CYPHER 25
// Links a session to its related sessions. Its previous links move to the summary version with which they
// were written; a link that existed before keeps its time.
//
// $client_id   string        the client
// $session_id  string        the session that was just summarized
// $summary_id  string        its summary, written by this transaction
// $ids         list<string>  its id and the others, sorted, so that concurrent writers do not deadlock
// $rows        list<map>     {id, basis, score, entities?}
// $now         datetime      now
UNWIND $ids AS id
MATCH (session:Session {client_id: $client_id, id: id})
SET session.locked = true
WITH session
// A node that was deleted while this waited for the lock has no properties.
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
