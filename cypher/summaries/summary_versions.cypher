CYPHER 25
// The newest version of a summary, and whether this one is written already.
//
// $client_id    string  whose summary
// $source_type  string  what kind of thing it is about
// $source_id    string  what it is about
// $id           string  this version, there after a lost answer
RETURN
  COLLECT {
    MATCH (summary:Summary {
      client_id: $client_id, source_type: $source_type, source_id: $source_id
    })
    // The index holds what has a version: without this line it is not used.
    WHERE summary.version IS NOT NULL
    RETURN summary.id
    ORDER BY summary.version DESC
    LIMIT 1
  } AS head,
  COLLECT {
    MATCH (written:Memory {client_id: $client_id, id: $id})
    RETURN written.version
  } AS written
