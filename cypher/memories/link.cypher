CYPHER 25
// Links memories that do not have this link yet; a link to a byte range is another link.
//
// $client_id  string     the client
// $rows       list<map>  {place, from_id, to_id, type}; the type is one of a closed list
// $now        datetime   now
UNWIND $rows AS row
MATCH (from:Memory {client_id: $client_id, id: row.from_id})
MATCH (to:Memory {client_id: $client_id, id: row.to_id})
// MERGE would also find a link to a byte range. The locks of both ends keep two writers from making one twice.
CALL (row, from, to) {
  WITH row, from, to
  WHERE NOT EXISTS {
    MATCH (from)-[link]->(to)
    WHERE type(link) = row.type AND link.start_byte IS NULL
  }
  CREATE (from)-[:$(row.type) {created_at: $now}]->(to)
}
RETURN collect({
  place: row.place,
  created: EXISTS {
    MATCH (from)-[link]->(to)
    WHERE type(link) = row.type AND link.start_byte IS NULL AND link.created_at = $now
  }
}) AS rows
