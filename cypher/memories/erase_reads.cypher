CYPHER 25
// Deletes some of the reads outside of runs that returned any of some memories, with their questions.
//
// $client_id  string        the client
// $ids        list<string>  the memories
// $limit      int           the maximum number of reads
UNWIND $ids AS id
MATCH (memory:Memory {client_id: $client_id, id: id})<-[:RETURNED]-(access:Access {client_id: $client_id, run_id: ''})
WITH DISTINCT access
LIMIT $limit
DETACH DELETE access
RETURN count(*) AS written
