CYPHER 25
// Removes the embeddings of one side from memories of any client. After a switch, the new side's mark of
// truncated texts replaces the old one, and the vectors of whole sessions that another model made are removed.
//
// $property  string     the side's property
// $switched  boolean    whether the other side has replaced it
// $model     string     the embedding model in use, with its hash
// $rows      list<map>  {client_id, id}
UNWIND $rows AS row
MATCH (memory:Memory {client_id: row.client_id, id: row.id})
FOREACH (_ IN CASE WHEN $switched AND memory.other_truncated IS NOT NULL THEN [1] ELSE [] END |
  SET memory.embedding_truncated = memory.other_truncated)
FOREACH (session IN COLLECT {
    MATCH (memory)-[:PART_OF]->(session:Session {client_id: row.client_id})
    WHERE $switched AND session.whole_model <> $model
    RETURN session
  } |
  SET session.whole_embedding = null, session.whole_model = null
)
REMOVE memory[$property], memory.other_truncated
RETURN count(*) AS written
