CYPHER 25
// All versions of a memory, oldest first, by the id of any of them; no row if there is no such memory.
//
// $client_id    string    the client
// $id           string    the id of any version
// $known_as_of  datetime  the last created_at that is shown
// $as_of        datetime  the last valid_at that is shown
// $end          datetime  the value for no upper bound
MATCH (memory:Memory {client_id: $client_id, id: $id})
RETURN COLLECT {
  MATCH (memory)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(version:Memory)
  WITH DISTINCT version
  WHERE version.created_at <= $known_as_of AND version.valid_at <= $as_of
  OPTIONAL MATCH (version)-[edge:SUPERSEDES]->(:Memory {client_id: $client_id})
  WITH version, edge, coalesce(version.version, 1) AS number
  ORDER BY number
  RETURN version {
    .id, .kind, .text,
    version: number,
    valid_at: toString(version.valid_at),
    created_at: toString(version.created_at),
    superseded_at:
      CASE WHEN version.superseded_at <= $known_as_of
        THEN toString(nullIf(version.superseded_at, $end)) END,
    reason: edge.reason
  }
} AS versions
