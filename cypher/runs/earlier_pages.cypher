CYPHER 25
// What a retrieval of a run and the retrievals that it continues have delivered, and their answers.
//
// $client_id  string  the client
// $id         string  its id
// $access_id  string  the retrieval
MATCH (access:Access {client_id: $client_id, id: $access_id})
WHERE access.run_id = $id AND access.operation = 'retrieve' AND access.operation_id IS NOT NULL
RETURN
  access.params AS params,
  COLLECT {
    MATCH (access)(()-[:CONTINUES]->(:Access {client_id: $client_id})){0,}(page:Access)
    MATCH (page)-[:RETURNED]->(memory:Memory {client_id: $client_id})
    RETURN memory.id
  } AS ids,
  COLLECT {
    MATCH (access)(()-[:CONTINUES]->(:Access {client_id: $client_id})){0,}(page:Access)
    RETURN page.answer
  } AS answers
