CYPHER 25
// The conversations with pending reviews, longest waiting first.
//
// $client_id  string  the client
MATCH (review:Review {client_id: $client_id, state: 'pending'})
WHERE review.at IS NOT NULL
WITH review.conversation_id AS conversation_id, min(review.at) AS oldest
ORDER BY oldest, conversation_id
RETURN collect(conversation_id) AS conversation_ids
