CYPHER 25
// The number of a client's conversations.
//
// $client_id  string  the client
MATCH (conversation:Conversation {client_id: $client_id})
WHERE conversation.id IS NOT NULL // else no index is used
  // include tagged(conversation)
RETURN count(*) AS total
