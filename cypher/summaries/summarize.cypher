CYPHER 25
// Links a summary to its session.
//
// $client_id   string  the client
// $id          string  its id
// $session_id  string  the session; this transaction has locked its conversation
MATCH (summary:Memory {client_id: $client_id, id: $id})
MATCH (session:Session {client_id: $client_id, id: $session_id})
MERGE (summary)-[:SUMMARIZES]->(session)
RETURN count(*) AS written
