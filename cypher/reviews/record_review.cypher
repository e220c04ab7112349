CYPHER 25
// Keeps what a question was shown until it is rated; nothing when its conversation is gone.
//
// $client_id        string     whose review
// $id               string     its id
// $conversation_id  string     the conversation that was asked
// $question         string     what was asked
// $at               datetime   when
// $returned         list<map>  {id, rank, score} of the episodes that were shown
MATCH (conversation:Conversation {client_id: $client_id, id: $conversation_id})
// A deletion waits for this lock, or this waits for the deletion and finds nothing.
SET conversation.locked = true
WITH conversation
WHERE conversation.next_position IS NOT NULL
MERGE (review:Review {client_id: $client_id, id: $id})
ON CREATE SET
  review.conversation_id = $conversation_id,
  review.query = $question,
  review.at = $at,
  review.state = 'pending'
WITH review
UNWIND $returned AS row
MATCH (episode:Memory {client_id: $client_id, id: row.id})
MERGE (review)-[returned:RETURNED]->(episode)
SET returned.rank = row.rank, returned.score = row.score
RETURN count(*) AS written
