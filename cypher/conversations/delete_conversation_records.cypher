CYPHER 25
// Deletes a batch of a conversation's reviews, recorded reads and jobs; waits for jobs that are just ending.
//
// $client_id  string  the client
// $id         string  its id
// $limit      int     the batch size
CALL () {
  MATCH (record:Job {client_id: $client_id, conversation_id: $id})
  RETURN record
UNION ALL
  MATCH (record:Review {client_id: $client_id, conversation_id: $id})
  // The index only holds nodes with a time: without this line it is not used.
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
