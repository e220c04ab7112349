CYPHER 25
// Relates memories that are not yet related in either direction.
//
// $client_id  string     the client
// $rows       list<map>  {place, from_id, to_id}
// $now        datetime   now
UNWIND $rows AS row
MATCH (from:Memory {client_id: $client_id, id: row.from_id})
MATCH (to:Memory {client_id: $client_id, id: row.to_id})
MERGE (from)-[link:RELATES_TO]-(to)
ON CREATE SET link.created_at = $now
RETURN collect({place: row.place, created: coalesce(link.created_at = $now, false)}) AS rows
