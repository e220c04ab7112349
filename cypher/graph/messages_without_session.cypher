CYPHER 25
// Messages that are part of no session, or of another than they name.
//
// $scanned  int  the number of messages examined
// $most     int  the number of defects after which the search ends
MATCH (message:Message)
WITH message
LIMIT $scanned
WHERE NOT EXISTS {
  (message)-[:PART_OF]->(session:Session)
  WHERE session.client_id = message.client_id AND session.id = message.session_id
}
WITH message
LIMIT $most
RETURN count(*) AS found, collect(message.id)[..3] AS examples
