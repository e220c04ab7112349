CYPHER 25
// Writes the vectors of one side to passages of any client that still exist: those of a change of the model,
// and those of a write that began before the change.
//
// $property  string     the side's property
// $rows      list<map>  {client_id, id, vector}
UNWIND $rows AS row
MATCH (passage:Passage {client_id: row.client_id, id: row.id})
CALL db.create.setNodeVectorProperty(passage, $property, row.vector)
RETURN count(*) AS written
