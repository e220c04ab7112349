CYPHER 25
// Sessions that are part of no conversation, or of another than they name.
//
// $scanned  int  the number of sessions examined
// $most     int  the number of defects after which the search ends
MATCH (session:Session)
WITH session
LIMIT $scanned
WHERE NOT EXISTS {
  (session)-[:PART_OF]->(conversation:Conversation)
  WHERE conversation.client_id = session.client_id AND conversation.id = session.conversation_id
}
WITH session
LIMIT $most
RETURN count(*) AS found, collect(session.id)[..3] AS examples
