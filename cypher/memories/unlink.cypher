CYPHER 25
// Deletes a link between two memories, also between other versions of them, which have copies of it with its
// time; a symmetric one is found from either end.
//
// $client_id   string  the client
// $from_id     string  the memory at its beginning
// $to_id       string  the memory at its end
// $type        string  its type, as it is stored
// $start_byte  int     the first byte of its byte range, -1 for none
// $end_byte    int     the end of that range, -1 for none
MATCH (from:Memory {client_id: $client_id, id: $from_id})
MATCH (to:Memory {client_id: $client_id, id: $to_id})
MATCH (from)-[link:
  // include link_types
]-(to)
WHERE type(link) = $type
  AND (startNode(link) = from OR $type = 'RELATES_TO')
  AND coalesce(link.start_byte, -1) = $start_byte
  AND coalesce(link.end_byte, -1) = $end_byte
WITH link, startNode(link) AS start, endNode(link) AS end
WITH link, [link] + COLLECT {
  MATCH (start)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(one:Memory)
  MATCH (one)-[copy:
    // include link_types
  ]->(other:Memory {client_id: $client_id})
  WHERE type(copy) = $type
    AND copy.created_at = link.created_at
    AND coalesce(copy.start_byte, -1) = $start_byte
    AND coalesce(copy.end_byte, -1) = $end_byte
    AND EXISTS {
      MATCH (other)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(end)
    }
  RETURN copy
} AS copies
UNWIND copies AS gone
WITH DISTINCT gone
DELETE gone
RETURN count(*) AS written
