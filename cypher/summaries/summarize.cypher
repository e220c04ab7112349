CYPHER 25
// Links a summary to its session; no automatic one follows a caller's own before there are new messages.
//
// $client_id   string   the client
// $id          string   its id
// $session_id  string   the session; this transaction has locked its conversation
// $given       boolean  whether it is a caller's own summary of the session
MATCH (summary:Memory {client_id: $client_id, id: $id})
MATCH (session:Session {client_id: $client_id, id: $session_id})
MERGE (summary)-[:SUMMARIZES]->(session)
FOREACH (_ IN CASE WHEN $given THEN [true] ELSE [] END | SET session.given_idx = session.next_idx)
RETURN count(*) AS written
