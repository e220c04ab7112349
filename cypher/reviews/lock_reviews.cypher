CYPHER 25
// Locks a conversation's pending reviews, oldest first; their state is read again under the lock.
//
// $client_id        string    the client
// $conversation_id  string    the conversation
// $after            datetime  recorded after this time
// $after_id         string    or at this time, with a greater id
// $limit            int       the maximum number
MATCH (review:Review {client_id: $client_id, conversation_id: $conversation_id})
USING INDEX review:Review(client_id, conversation_id, at)
WHERE review.at >= $after AND review.state = 'pending'
  // With OR the index may be read twice, and whole.
  AND CASE WHEN review.at = $after THEN review.id > $after_id ELSE true END
WITH review
// As in the index.
ORDER BY review.client_id, review.conversation_id, review.at, review.id
LIMIT $limit
SET review.locked = true
WITH review
WHERE review.id IS NOT NULL
RETURN collect(review {.id, at: toString(review.at)}) AS rows
