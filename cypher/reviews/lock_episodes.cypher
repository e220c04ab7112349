CYPHER 25
// Locks memories that are to be rated, in the order given, and says what FSRS knows of them.
//
// $client_id  string        whose memories
// $ids        list<string>  their ids, in an order that all keep to
// $review_id  string        the review that would rate them
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
SET memory.locked = true
WITH memory
// Deleted while this waited for the lock, it has no properties any more.
WHERE memory.id IS NOT NULL
RETURN collect(memory {
  .id, .kind, .conversation_id, .stability, .difficulty, .fsrs_state, .fsrs_step,
  last_reviewed_at: toString(memory.last_reviewed_at),
  rated: EXISTS {
    (memory)<-[:RATED]-(review:Review)
    WHERE review.client_id = $client_id AND review.id = $review_id
  }
}) AS rows
