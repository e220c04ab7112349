CYPHER 25
// Records the episodes that a question returned, to be rated later; does nothing if the conversation was
// deleted.
//
// $client_id        string     the client
// $id               string     its id
// $conversation_id  string     the conversation of the question
// $question         string     the question
// $at               datetime   when
// $returned         list<map>  {id, rank, score} of the returned episodes
MATCH (conversation:Conversation {client_id: $client_id, id: $conversation_id})
// A deletion waits for this lock; otherwise this waits for the deletion and finds nothing.
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
