CYPHER 25
// Links memories to byte ranges of others, unless the link exists.
//
// $client_id  string     the client
// $rows       list<map>  {place, from_id, to_id, start_byte, end_byte}
// $now        datetime   now
UNWIND $rows AS row
MATCH (from:Memory {client_id: $client_id, id: row.from_id})
MATCH (to:Memory {client_id: $client_id, id: row.to_id})
MERGE (from)-[link:REFERENCES {start_byte: row.start_byte, end_byte: row.end_byte}]->(to)
ON CREATE SET link.created_at = $now
RETURN collect({place: row.place, created: coalesce(link.created_at = $now, false)}) AS rows
