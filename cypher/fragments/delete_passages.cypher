// Deletes the passages of the memories in `gone`, and holds the locks of these: a job may be adding some.
//
// $client_id  string  the client
FOREACH (memory IN gone | SET memory.locked = true)
FOREACH (passage IN COLLECT {
    UNWIND gone AS memory
    MATCH (memory)<-[:PASSAGE_OF]-(passage:Passage {client_id: $client_id})
    RETURN passage
  } |
  DETACH DELETE passage
)
