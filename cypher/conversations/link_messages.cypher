CYPHER 25
// Links new messages to their session and to the previous message.
//
// $client_id  string     the client
// $rows       list<map>  {id, session_id, previous_id?}
UNWIND $rows AS row
MATCH (message:Memory {client_id: $client_id, id: row.id})
MATCH (session:Session {client_id: $client_id, id: row.session_id})
CREATE (message)-[:PART_OF]->(session)
WITH message, row
WHERE row.previous_id IS NOT NULL
MATCH (previous:Memory {client_id: $client_id, id: row.previous_id})
CREATE (previous)-[:NEXT]->(message)
RETURN count(*) AS written
