CYPHER 25
// Deletes some of the edges from recorded reads to memories; the reads stay.
//
// $client_id  string        the client
// $ids        list<string>  the memories
// $limit      int           the maximum number of edges
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})<-[returned:RETURNED]-(access:Access {client_id: $client_id})
WITH returned
LIMIT $limit
DELETE returned
RETURN count(*) AS written
