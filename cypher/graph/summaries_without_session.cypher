CYPHER 25
// Summaries of sessions that are not joined to theirs. A summary of anything else has no session.
//
// $scanned  int  the number of summaries examined
// $most     int  the number of defects after which the search ends
MATCH (summary:Summary)
WITH summary
LIMIT $scanned
WHERE summary.session_id <> ''
  AND NOT EXISTS {
    MATCH (summary)-[:SUMMARIZES]->(session:Session)
    WHERE session.client_id = summary.client_id AND session.id = summary.session_id
  }
WITH summary
LIMIT $most
RETURN count(*) AS found, collect(summary.id)[..3] AS examples
