CYPHER 25
// Removes what is left of a side from memories of any client; after a switch its successor's knowledge of what the
// model could not see takes the place of its own.
//
// $property  string     the side's property
// $switched  boolean    whether the other side has taken its place
// $rows      list<map>  {client_id, id}
UNWIND $rows AS row
MATCH (memory:Memory {client_id: row.client_id, id: row.id})
FOREACH (_ IN CASE WHEN $switched AND memory.other_truncated IS NOT NULL THEN [1] ELSE [] END |
  SET memory.embedding_truncated = memory.other_truncated)
REMOVE memory[$property], memory.other_truncated
RETURN count(*) AS written
