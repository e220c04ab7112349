CYPHER 25
// Links memories that do not have this link yet.
//
// $client_id  string     the client
// $rows       list<map>  {place, from_id, to_id, type}; the type is one of a closed list
// $now        datetime   now
UNWIND $rows AS row
MATCH (from:Memory {client_id: $client_id, id: row.from_id})
MATCH (to:Memory {client_id: $client_id, id: row.to_id})
MERGE (from)-[link:$(row.type)]->(to)
ON CREATE SET link.created_at = $now
RETURN collect({place: row.place, created: coalesce(link.created_at = $now, false)}) AS rows
