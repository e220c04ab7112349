CYPHER 25
// Locks a memory that lacks passages, and counts those that it has; no row if it lacks none by now. After its
// last passage the mark is removed.
//
// $client_id  string   the client
// $id         string   its id
// $last       boolean  whether this transaction writes its last passage
MATCH (memory:Memory {client_id: $client_id, id: $id})
SET memory.locked = true
WITH memory
WHERE memory.passages_due = true
SET memory.passages_due = CASE WHEN $last THEN null ELSE true END
RETURN memory.id AS id, COUNT {
  (memory)<-[:PASSAGE_OF]-(:Passage {client_id: $client_id})
} AS passages
