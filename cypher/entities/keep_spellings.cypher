CYPHER 25
// Stores the spellings of names, by which alias detection finds names of the same meaning.
//
// $client_id  string     the client
// $rows       list<map>  {normalized, spelled, short}; '' for a name without a short form
UNWIND $rows AS row
MATCH (entity:Entity {client_id: $client_id, normalized: row.normalized})
SET entity.spelled = row.spelled, entity.short = nullIf(row.short, '')
RETURN count(*) AS written
