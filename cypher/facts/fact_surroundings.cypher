CYPHER 25
// The references of facts to be written: the client's categories, the existing conversations and sources, and
// the facts that already exist.
//
// $client_id         string        the client
// $conversation_ids  list<string>  the conversations that they belong to
// $source_ids        list<string>  the memories that they come from
// $ids               list<string>  their own ids, already there after a lost answer
RETURN
  COLLECT {
    MATCH (client:Client {client_id: $client_id})
    UNWIND client.categories AS category
    RETURN category
  } AS categories,
  COLLECT {
    UNWIND $conversation_ids AS id
    MATCH (conversation:Conversation {client_id: $client_id, id: id})
    RETURN conversation.id
  } AS conversations,
  COLLECT {
    UNWIND $source_ids AS id
    MATCH (source:Memory {client_id: $client_id, id: id})
    RETURN source {.id, .kind}
  } AS sources,
  COLLECT {
    UNWIND $ids AS id
    MATCH (fact:Memory {client_id: $client_id, id: id})
    RETURN fact.id
  } AS written
