CYPHER 25
// Creates the review for a caller's own rating: without a question, and done.
//
// $client_id        string    the client
// $id               string    its id
// $conversation_id  string    the conversation of the rated memory
// $at               datetime  when it was shown
MERGE (review:Review {client_id: $client_id, id: $id})
ON CREATE SET
  review.conversation_id = $conversation_id,
  review.query = '',
  review.at = $at,
  review.state = 'done'
RETURN count(*) AS written
