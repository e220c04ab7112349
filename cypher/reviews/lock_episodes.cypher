CYPHER 25
// Locks memories to be rated, in the given order, and reads their FSRS state.
//
// $client_id  string        the client
// $ids        list<string>  their ids, in the order that all writers use
// $review_id  string        the review that would rate them
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})
SET memory.locked = true
WITH memory
// A node that was deleted while this waited for the lock has no properties.
WHERE memory.id IS NOT NULL
RETURN collect(memory {
  .id, .kind, .conversation_id, .stability, .difficulty, .fsrs_state, .fsrs_step,
  last_reviewed_at: toString(memory.last_reviewed_at),
  rated: EXISTS {
    (memory)<-[:RATED]-(review:Review)
    WHERE review.client_id = $client_id AND review.id = $review_id
  }
}) AS rows
