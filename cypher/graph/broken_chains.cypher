CYPHER 25
// Sessions whose messages do not form a single chain of rising idx.
//
// $scanned  int  the number of sessions examined
// $most     int  the number of defects after which the search ends
MATCH (session:Session)
WITH session
LIMIT $scanned
CALL (session) {
  MATCH (message:Message {client_id: session.client_id, session_id: session.id})
  // The index only holds nodes with an idx: without this line it is not used.
  WHERE message.idx IS NOT NULL
  RETURN
    count(*) AS messages,
    sum(COUNT {
      // No label here: with it, each message would be looked up by the index again.
      (message)-[:NEXT]->(after)
      WHERE after.client_id = session.client_id
        AND after.session_id = session.id
        AND after.idx > message.idx
    }) AS joined,
    max(COUNT { (message)-[:NEXT]->() }) AS ways_on,
    max(COUNT { (message)<-[:NEXT]-() }) AS ways_back
}
WITH session, messages, joined, ways_on, ways_back
WHERE messages > 0 AND (joined <> messages - 1 OR ways_on > 1 OR ways_back > 1)
WITH session
LIMIT $most
RETURN count(*) AS found, collect(session.id)[..3] AS examples
