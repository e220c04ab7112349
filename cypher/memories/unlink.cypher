CYPHER 25
// Deletes a link between two memories; one that holds both ways is found from either end.
//
// $client_id   string  whose memories
// $from_id     string  where it begins
// $to_id       string  where it ends
// $type        string  its type, as it is stored
// $start_byte  int     the begin of the bytes that it is about, -1 for none
// $end_byte    int     their end, -1 for none
MATCH (from:Memory {client_id: $client_id, id: $from_id})
MATCH (to:Memory {client_id: $client_id, id: $to_id})
MATCH (from)-[link:
  // include link_types
]-(to)
WHERE type(link) = $type
  AND (startNode(link) = from OR $type = 'RELATES_TO')
  AND coalesce(link.start_byte, -1) = $start_byte
  AND coalesce(link.end_byte, -1) = $end_byte
DELETE link
RETURN count(*) AS written
