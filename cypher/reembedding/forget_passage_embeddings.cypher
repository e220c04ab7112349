CYPHER 25
// Removes the embeddings of one side from passages of any client.
//
// $property  string     the side's property
// $rows      list<map>  {client_id, id}
UNWIND $rows AS row
MATCH (passage:Passage {client_id: row.client_id, id: row.id})
REMOVE passage[$property]
RETURN count(*) AS written
