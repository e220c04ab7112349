CYPHER 25
// Deletes some of a conversation's reviews, recorded reads and jobs; what a job does that ends just now is waited for.
//
// $client_id  string  whose conversation
// $id         string  its id
// $limit      int     how many at once
CALL () {
  MATCH (record:Job {client_id: $client_id, conversation_id: $id})
  RETURN record
UNION ALL
  MATCH (record:Review {client_id: $client_id, conversation_id: $id})
  // The index holds what has a time: without this line it is not used.
  WHERE record.at IS NOT NULL
  RETURN record
UNION ALL
  MATCH (record:Access {client_id: $client_id, conversation_id: $id})
  // As above.
  WHERE record.at IS NOT NULL
  RETURN record
}
WITH record
LIMIT $limit
DETACH DELETE record
RETURN count(*) AS written
