CYPHER 25
// The newest version of a summary, and whether this version is already written.
//
// $client_id    string  the client
// $source_type  string  the type of the summarized object
// $source_id    string  the id of the summarized object
// $id           string  this version, already there after a lost answer
RETURN
  COLLECT {
    MATCH (summary:Summary {
      client_id: $client_id, source_type: $source_type, source_id: $source_id
    })
    // The index only holds nodes with a version: without this line it is not used.
    WHERE summary.version IS NOT NULL
    RETURN summary.id
    ORDER BY summary.version DESC
    LIMIT 1
  } AS head,
  COLLECT {
    MATCH (written:Memory {client_id: $client_id, id: $id})
    RETURN written.version
  } AS written
