CYPHER 25
// Notes on names how they are spelled, by which others are found that may mean the same.
//
// $client_id  string     whose names
// $rows       list<map>  {normalized, spelled, short}; '' where a name has no short form
UNWIND $rows AS row
MATCH (entity:Entity {client_id: $client_id, normalized: row.normalized})
SET entity.spelled = row.spelled, entity.short = nullIf(row.short, '')
RETURN count(*) AS written
