CYPHER 25
// The review that a caller's own rating stands on: it asked nothing and is done.
//
// $client_id        string    whose review
// $id               string    its id
// $conversation_id  string    the conversation of what was rated
// $at               datetime  when that was shown
MERGE (review:Review {client_id: $client_id, id: $id})
ON CREATE SET
  review.conversation_id = $conversation_id,
  review.query = '',
  review.at = $at,
  review.state = 'done'
RETURN count(*) AS written
