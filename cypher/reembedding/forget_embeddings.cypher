CYPHER 25
// Removes the embeddings of one side from memories of any client. After a switch, the new side's mark of
// truncated texts replaces the old one.
//
// $property  string     the side's property
// $switched  boolean    whether the other side has replaced it
// $rows      list<map>  {client_id, id}
UNWIND $rows AS row
MATCH (memory:Memory {client_id: row.client_id, id: row.id})
FOREACH (_ IN CASE WHEN $switched AND memory.other_truncated IS NOT NULL THEN [1] ELSE [] END |
  SET memory.embedding_truncated = memory.other_truncated)
REMOVE memory[$property], memory.other_truncated
RETURN count(*) AS written
