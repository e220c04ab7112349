CYPHER 25
// Deletes the recorded reads, the contexts and the jobs that an import is about to make: they stay where all
// memories of the client were deleted.
//
// $client_id  string        the client
// $reads      list<string>  the ids of reads
// $contexts   list<string>  the ids of contexts
// $jobs       list<map>     {kind, key}
CALL () {
  UNWIND $reads AS id
  MATCH (record:Access {client_id: $client_id, id: id})
  RETURN record

  UNION ALL

  UNWIND $contexts AS id
  MATCH (record:Context {client_id: $client_id, id: id})
  RETURN record

  UNION ALL

  UNWIND $jobs AS job
  MATCH (record:Job {client_id: $client_id, kind: job.kind, key: job.key})
  RETURN record
}
DETACH DELETE record
RETURN count(*) AS written
