CYPHER 25
// Says that memories refer to certain bytes of others, where that is not said yet.
//
// $client_id  string     whose memories
// $rows       list<map>  {place, from_id, to_id, start_byte, end_byte}
// $now        datetime   now
UNWIND $rows AS row
MATCH (from:Memory {client_id: $client_id, id: row.from_id})
MATCH (to:Memory {client_id: $client_id, id: row.to_id})
MERGE (from)-[link:REFERENCES {start_byte: row.start_byte, end_byte: row.end_byte}]->(to)
ON CREATE SET link.created_at = $now
RETURN collect({place: row.place, created: coalesce(link.created_at = $now, false)}) AS rows
