CYPHER 25
// Deletes a batch of the passages of a conversation's memories.
//
// $client_id  string  the client
// $id         string  its id
// $limit      int     the batch size
MATCH (passage:Passage {client_id: $client_id, conversation_id: $id})
WITH passage
LIMIT $limit
DETACH DELETE passage
RETURN count(*) AS written
