CYPHER 25
// Locks a conversation's reviews that seem to wait, oldest first: which of them still do is read under
// the lock.
//
// $client_id        string    whose reviews
// $conversation_id  string    of which conversation
// $after            datetime  recorded after when
// $after_id         string    or then, with a greater id
// $limit            int       how many
MATCH (review:Review {client_id: $client_id, conversation_id: $conversation_id})
WHERE review.at IS NOT NULL AND review.state = 'pending'
  AND (review.at > $after OR (review.at = $after AND review.id > $after_id))
WITH review
ORDER BY review.at, review.id
LIMIT $limit
SET review.locked = true
WITH review
WHERE review.id IS NOT NULL
RETURN collect(review {.id, at: toString(review.at)}) AS rows
