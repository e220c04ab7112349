CYPHER 25
// Joins a summary to the session that it is about.
//
// $client_id   string  whose summary
// $id          string  its id
// $session_id  string  the session, its conversation locked by this transaction
MATCH (summary:Memory {client_id: $client_id, id: $id})
MATCH (session:Session {client_id: $client_id, id: $session_id})
MERGE (summary)-[:SUMMARIZES]->(session)
RETURN count(*) AS written
